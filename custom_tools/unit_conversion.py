"""Example of a pure tool: what it needs is in its arguments, so it never asks the desk."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from desk_tool import Arguments, Desk, declare

Unit = Literal["bar", "kPa", "psi", "mH2O", "l/min", "l/s", "m3/h", "gpm", "degC", "degF", "K"]

# Unit -> (quantity, factor, offset): value * factor + offset is the reading in bar, l/min or degC.
# US gallons; water at 4 °C for the column of water.
UNITS: dict[str, tuple[str, float, float]] = {
    "bar": ("pressure", 1.0, 0.0),
    "kPa": ("pressure", 0.01, 0.0),
    "psi": ("pressure", 0.0689475729, 0.0),
    "mH2O": ("pressure", 0.0980665, 0.0),
    "l/min": ("flow", 1.0, 0.0),
    "l/s": ("flow", 60.0, 0.0),
    "m3/h": ("flow", 1000 / 60, 0.0),
    "gpm": ("flow", 3.785411784, 0.0),
    "degC": ("temperature", 1.0, 0.0),
    "degF": ("temperature", 5 / 9, -160 / 9),
    "K": ("temperature", 1.0, -273.15),
}


class Conversion(Arguments):
    """`examples` shows the model how to call; the contract test runs each of them."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"value": 58.0, "unit": "psi", "to": "bar"}]})

    value: float = Field(ge=-1e9, le=1e9, description="The reading.")
    unit: Unit = Field(description="The unit that it was read in.")
    to: Unit = Field(description="The unit that is wanted.")


@declare(
    name="convert_units",
    description="Converts a reading: pressure (bar, kPa, psi, mH2O), flow (l/min, l/s, m3/h, gpm) or temperature.",
    risk="read",
    arguments=Conversion,
)
async def convert_units(args: Conversion, _desk: Desk) -> dict[str, object]:
    quantity, factor, offset = UNITS[args.unit]
    wanted, to_factor, to_offset = UNITS[args.to]
    if quantity != wanted:
        raise ValueError(f"{args.unit} is a {quantity}, {args.to} a {wanted}")
    value = (args.value * factor + offset - to_offset) / to_factor
    return {"value": round(value, 4), "unit": args.to, "quantity": quantity}
