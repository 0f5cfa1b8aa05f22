"""The sample orders of a new desk: three months of a field-service company's work (D-27)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from bson import ObjectId

from app.core.ids import derived_id
from app.work_orders.schemas import PastOrder, Status, WorkOrderCreate

_SAMPLES = """\
3 low pending technician: Pump leaks at the flange, pump room B
  Puddle under P-204 since Monday, bolts already tightened. Getting closer to the electrical cabinet.
7 medium pending technician: Door closer broken, Linden School west entrance
  Door slams; a pupil's fingers were nearly caught. Closer leaks oil onto the frame.
11 high in_progress technician: No heating on floors 3 and 4, Kestrel House
  Circulation pump runs, return stays cold. Tenants have been told to expect us today.
20 medium pending technician: Replace flickering tubes in the stairwell, Mill Lane Library
  Six fittings between ground and second floor. Bring the long ladder.
26 high pending technician: Walk-in freezer at -9 °C, Harbour Canteen
  Set to -20. Evaporator iced over, fan audible. Food has been moved to the spare unit until tonight.
30 low pending technician: Repaint handrail after welding, Northgate Depot stairs
44 medium in_progress technician: Lift 2 stops 3 cm above level, Orchard Court
  Only on the second floor, worse with a full cabin. Taken out of service at night by the porter.
50 high pending dispatcher: Smell of gas near boiler, St. Anne's parish hall
  Supply shut off at the meter by the caretaker. Hall closed until we have been there.
58 low pending technician: Label distribution board DB-7, Northgate Depot
  Several circuits renamed after the refit; the old chart no longer matches.
70 medium done technician: Tap drips in treatment room 4, Harbour Clinic
  New cartridge fitted, checked for ten minutes, dry.
77 medium pending technician: Quarterly filter change, air handling unit AHU-2
  F7 bags, eight pieces, on the shelf in the roof plant room.
92 high in_progress technician: Emergency lights fail the three-hour test, Riverside Cinema
  Screens 2 and 5. Batteries from 2017. Replacement set ordered.
101 low done technician: Loose socket in meeting room Alder, Kestrel House
118 medium pending technician: Roof drain blocked, Bakery Sørensen
  Water stands about 5 cm deep after rain, no leak inside yet. Gutter guard missing.
125 medium in_progress technician: Access reader rejects valid cards, Data Hall 1
  Works again after a restart, for about a day. Supplier wants the controller's log.
143 high done technician: Burst pipe in ceiling void, Linden School kitchen
  Isolated, 40 cm of 22 mm copper replaced, pressure held at 6 bar for an hour. Ceiling tiles to follow.
150 low pending technician: Replace ceiling tiles after pipe repair, Linden School kitchen
  Eleven tiles 60 x 60, moisture-resistant.
169 medium done technician: Compressor trips on overload, Autohaus Becker workshop
  Contactor burnt on one phase; replaced, currents balanced at 11 A.
188 medium pending dispatcher: Calibrate gas detectors, car park Central Square
  Twelve CO heads. Yearly certificate due at the end of the month.
197 low done technician: Squeaking fire door, archive basement, City Hall
  Hinges greased, latch adjusted.
220 high in_progress technician: Sump pump runs without stopping, Riverside Cinema
  Float stuck? Pit stays full after rain. Standby pump is running meanwhile.
243 medium done technician: Thermostat shows E4, flat 12, Orchard Court
  Sensor cable broken behind the panel, spliced. Tenant shown how to reset.
262 low pending technician: Quote for LED conversion, sports hall Fairfield
  24 high-bay fittings, 400 W each. Hall free on Tuesday mornings.
281 medium done technician: Sliding door sensor too slow, Harbour Clinic main entrance
  Sensitivity raised, photo cell cleaned, force measured at 120 N.
305 medium done technician: Water heater leaks at the relief valve, Gym Nordlys
  Expansion vessel had lost its charge. Refilled to 3 bar.
330 low done technician: Install whiteboard, training room Northgate Depot
352 high done technician: Generator fails weekly test, Data Hall 1
  Starter battery at 10.8 V. Replaced, three good starts in a row. Monthly load test planned.
371 medium in_progress technician: Uneven temperature in open-plan office, Kestrel House floor 2
  South side 26 °C, north side 20 °C. Two VAV boxes do not move; actuators on order.
401 low done technician: Graffiti on loading gate, Bakery Sørensen
  Removed with citrus cleaner, no repainting needed.
433 medium done technician: Intercom silent, house 3, Orchard Court
  Speaker replaced; door release tested from four flats.
460 medium done technician: Replace mixing valve, showers, sports hall Fairfield
  Outlet had reached 52 °C. Now limited to 41 °C, recorded in the log.
489 high done dispatcher: Smoke detector loop fault, City Hall east wing
  Damp socket in detector 4/17. Dried, resealed, loop clear for 24 hours.
515 low done technician: Adjust blinds, meeting room Birch, Kestrel House
548 medium done technician: Cold store door seal torn, Harbour Canteen
  Magnetic seal 2.1 m fitted. Door heater works.
580 medium done technician: Yearly inspection of fall-arrest anchors, Mill Lane Library roof
  Fourteen anchors passed, two retightened, tags renewed.
612 low done technician: Replace tap aerators, Linden School
  32 pieces. Flow measured at 5 l/min.
644 high done technician: Hydraulic oil under goods lift, Autohaus Becker
  Ram seal replaced, 14 litres refilled, pit cleaned, oil disposed of.
671 medium done technician: Noise from roof fan EF-3, Harbour Clinic
  Bearing worn. Fan exchanged at night, vibration 1.8 mm/s.
705 medium pending technician: Backflow preventer test overdue, Gym Nordlys
  Needs a shutdown before 07:00. Manager asks for a date two weeks ahead.
740 low done technician: Mount safe cabinet for chemicals, swimming pool Fairfield
  Fixed to masonry, vent led outside.
779 medium done technician: Chlorine dosing pump loses prime, swimming pool Fairfield
  Suction valve scaled up. Cleaned; 24 hours of stable readings.
812 high done technician: Cabinet overheats, rack room Riverside Cinema
  Fan tray dead, 41 °C inside. New tray, alarm threshold set to 32 °C.
850 low done technician: Worn stair nosing, City Hall main stairs
  Nine strips replaced, anti-slip class checked.
894 medium done technician: Boiler service, St. Anne's parish hall
  Burner cleaned, CO 28 ppm, flue tested, next service in twelve months.
937 medium done technician: RCD trips when the dishwasher starts, Harbour Canteen
  Heating element earthed out. Replaced by the maker under warranty.
980 low done technician: Change lock cylinder, caretaker's room, Linden School
  Three keys handed over against signature.
1025 medium done technician: Charge points 3 and 4 offline, car park Central Square
  SIM expired. New cards in, back end sees both.
1071 high done dispatcher: Sprinkler valve chatter, Northgate Depot
  Retard chamber drain blocked. Cleared, flow test witnessed by the insurer.
1120 medium done technician: Underfloor heating circuit cold, Bakery Sørensen shop
  Air in the manifold; bled, flow 2.2 l/min.
1180 low done technician: Replace notice board lighting, Mill Lane Library
1244 medium done technician: Legionella samples, Orchard Court
  Eight points, all below 100 CFU/l. Report filed.
1310 medium done technician: Refrigerant leak check, rooftop unit RTU-5
  Flare nut at the liquid line leaked. Remade, 1.2 kg R32 topped up, logbook signed.
1386 low done technician: Adjust barrier height, car park Central Square
  Vans had touched it. Arm raised by 12 cm, sign moved.
1465 high done technician: Power lost in operating suite corridor, Harbour Clinic
  Loose neutral in DB-2, terminal replaced, thermal image taken afterwards.
1549 medium done technician: Ventilation in school kitchen too weak, Linden School
  Grease filter blocked, belt slack. 1,450 m3/h again.
1640 medium done technician: Radiator valve stuck, reading room, Mill Lane Library
  Pin freed, head replaced.
1733 low done technician: Fix bicycle rack to ground, Kestrel House
  Six anchors, resin cured overnight.
1829 medium done dispatcher: UPS battery replacement, Data Hall 1
  40 blocks, string B. Autonomy measured at 14 minutes.
1930 medium done technician: Gutter heating does not switch on, City Hall
  Sensor set to -15 °C by mistake; now +3 °C.
2040 low done technician: Touch up fire-stopping at cable tray, Northgate Depot
  Two openings closed and labelled.
2140 high done technician: Escalator handrail slower than steps, Riverside Cinema
  Drive wheel glazed. Exchanged, speed difference under 1 %.
"""
"""One order a line: hours ago, priority, status, whose it is, title; then, indented, its description."""


class _Sample(NamedTuple):
    hours_ago: int
    by_dispatcher: bool
    order: WorkOrderCreate


def _samples() -> Iterator[_Sample]:
    blocks = _SAMPLES.replace("\n  ", "\t").splitlines()
    for head, _, description in (block.partition("\t") for block in blocks):
        facts, _, title = head.partition(": ")
        hours, priority, status, whose = facts.split()
        fields = {"title": title, "description": description or None, "priority": priority, "status": status}
        yield _Sample(int(hours), whose == "dispatcher", WorkOrderCreate.model_validate(fields))


def sample_orders(now: datetime, technician: ObjectId, dispatcher: ObjectId) -> list[PastOrder]:
    """Sixty-one orders that end shortly before `now`. Their ids are fixed, so that seeding twice adds nothing."""
    return [
        _order(number, sample, now, dispatcher if sample.by_dispatcher else technician)
        for number, sample in enumerate(_samples())
    ]


def _order(number: int, sample: _Sample, now: datetime, owner: ObjectId) -> PastOrder:
    created = now - timedelta(hours=sample.hours_ago, minutes=number * 17 % 53)
    return PastOrder(
        id=derived_id("seed", "work-order", str(number)),
        title=sample.order.title,
        description=sample.order.description,
        priority=sample.order.priority,
        status=sample.order.status,
        owner=owner,
        created_at=created,
        steps=_steps(sample.order.status, created, now),
    )


def _steps(status: Status, created: datetime, now: datetime) -> list[tuple[datetime, Status]]:
    """Begun after a quarter, ended after half of the time since, within two days."""
    span = min(now - created, timedelta(days=2))
    begun: tuple[datetime, Status] = (created + span / 4, "in_progress")
    ended: tuple[datetime, Status] = (created + span / 2, "done")
    return {"pending": [], "in_progress": [begun], "done": [begun, ended]}[status]
