"""The parts inventory of the demonstration: stock to look at, and reservations that are kept in memory."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from app.tools.connections.demo.service import DemoService, Received, Reply

MAX_RESERVATIONS = 1_000


@dataclass(frozen=True, slots=True)
class Part:
    """One part and how many are free to be reserved, by the unit it is counted in."""

    sku: str
    name: str
    stock: int
    unit: str
    shelf: str


PARTS = (
    Part("PMP-2040", "Circulation pump 25-60, 180 mm", 6, "piece", "A-01"),
    Part("PMP-3110", "Condensate pump 20 l/h, 230 V", 9, "piece", "A-02"),
    Part("SEA-0118", "Shaft seal 18 mm, carbon and ceramic", 42, "piece", "B-04"),
    Part("SEA-0250", "Flange gasket DN 50, EPDM", 64, "piece", "B-05"),
    Part("FLT-0592", "Pleated filter G4, 592 × 592 mm", 30, "piece", "C-01"),
    Part("FLT-0287", "Bag filter F7, 287 × 592 mm", 18, "piece", "C-02"),
    Part("BRG-6204", "Ball bearing 6204-2RS", 55, "piece", "B-11"),
    Part("BLT-1250", "V-belt SPA 1250", 24, "piece", "B-14"),
    Part("VLV-0015", "Thermostatic valve DN 15", 20, "piece", "D-03"),
    Part("SNS-0100", "Temperature sensor Pt100, 100 mm", 15, "piece", "E-02"),
    Part("CON-0025", "Contactor 25 A, 24 V coil", 11, "piece", "E-07"),
    Part("REF-0032", "Refrigerant R-32, cylinder of 9 kg", 4, "cylinder", "F-01"),
)


class Inventory(DemoService):
    """`GET /parts?search=`, `GET /parts/{sku}`, `POST /reservations {sku, quantity, note?}`, `DELETE /parts/{sku}`."""

    def __init__(self, token: str) -> None:
        super().__init__(token)
        self.parts = {part.sku: part for part in PARTS}
        self.reservations: list[dict[str, Any]] = []

    def answer(self, request: Received) -> Reply:
        """See `DemoService.answer`."""
        match (request.method, request.path.strip("/").split("/")):
            case "GET", ["parts"]:
                return Reply(200, [asdict(part) for part in self._named(request.query.get("search", ""))])
            case "GET", ["parts", sku] if sku in self.parts:
                return Reply(200, asdict(self.parts[sku]))
            case "DELETE", ["parts", sku] if sku in self.parts:
                del self.parts[sku]
                return Reply(204)
            case "POST", ["reservations"]:
                return self._reserve(request.body)
        return Reply(404, {"message": "There is no such part or address."})

    def _named(self, words: str) -> list[Part]:
        sought = words.casefold().split()
        return [
            part for part in self.parts.values() if all(word in f"{part.sku} {part.name}".casefold() for word in sought)
        ]

    def _reserve(self, body: Any) -> Reply:
        sku, quantity = (body.get("sku"), body.get("quantity")) if isinstance(body, dict) else (None, None)
        part = self.parts.get(sku) if isinstance(sku, str) else None
        if part is None or not isinstance(quantity, int) or isinstance(quantity, bool) or quantity < 1:
            return Reply(400, {"message": "Name the sku of a part, and a quantity of 1 or more."})
        if quantity > part.stock:
            return Reply(409, {"message": f"Only {part.stock} of {part.sku} are free."})
        if len(self.reservations) >= MAX_RESERVATIONS:
            return Reply(503, {"message": "The demonstration keeps no more reservations."})
        self.parts[part.sku] = replace(part, stock=part.stock - quantity)
        number = len(self.reservations) + 1
        reservation = {"id": f"R-{number:04d}", "sku": part.sku, "quantity": quantity, "note": body.get("note")}
        self.reservations.append(reservation)
        return Reply(201, {**reservation, "stock": part.stock - quantity})
