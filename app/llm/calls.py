"""Fragments of tool calls → whole calls (D-9): routed by the call's id, then its index, never by guessing.

A call is either one strict JSON object of arguments for a named tool, or a `CallFault`. Nothing is repaired and run.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from typing import Any

from app.core.strict_json import StrictJsonError, parse_object
from app.llm.port import CallFault, CallRequested, ProviderUnavailable
from app.llm.text import join_surrogates, readable

MAX_ARGUMENT_BYTES = 64 * 1024
MAX_ARGUMENT_DEPTH = 32
MAX_CALLS = 32
MAX_NAME = 128
MAX_ID = 200

UNATTRIBUTED = "Part of a call came without an id or an index, so it belongs to no call."
_NO_NAME = "The call names no tool."
_BAD_NAME = "The tool's name is too long or holds characters that cannot be stored."
_TOO_LONG = f"The arguments are longer than {MAX_ARGUMENT_BYTES} bytes."


class DoubledKeys(dict[str, Any]):
    """An object that came with the same key twice: harmless in an envelope, refused inside arguments."""


@dataclass(slots=True)
class _Slot:
    """One call as far as it has come. `given` is set when the arguments came as a JSON value, not as text."""

    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    size: int = 0
    given: Any = None
    fault: str = ""

    def add_name(self, name: str) -> None:
        # Some servers repeat the whole name with each fragment, others send it in pieces.
        if name != self.name:
            self.name = (self.name + name)[: MAX_NAME + 1]

    def add_arguments(self, arguments: Any) -> None:
        if isinstance(arguments, str):
            self.size += len(arguments)
            if self.size > MAX_ARGUMENT_BYTES:
                self.fault = _TOO_LONG
            elif arguments:
                self.parts.append(arguments)
        elif arguments is not None:
            self.fault = self.fault or ("" if self.given is None else "The arguments came twice.")
            self.given = arguments

    @property
    def is_blank(self) -> bool:
        return not self.parts and self.given is None

    @property
    def looks_whole(self) -> bool:
        return bool(self.parts) and self.parts[-1].rstrip().endswith("}")


class CallAssembler:
    """Collects the `tool_calls` of one answer. Raises `ProviderUnavailable` past `MAX_CALLS`."""

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._by_id: dict[str, _Slot] = {}
        self._by_index: dict[int, _Slot] = {}
        self._strays = False

    def add_fragment(self, fragment: Any) -> None:
        """One entry of a streamed delta's `tool_calls`."""
        call_id, index, name, arguments = _read(fragment)
        slot = self._route(call_id, index, name, arguments)
        if slot is None:
            self._strays = True
            return
        self._fill(slot, call_id, name, arguments)
        if index is not None:
            self._by_index[index] = slot

    def add_whole(self, entry: Any) -> None:
        """One entry of a complete message's `tool_calls`: always a call of its own."""
        call_id, _index, name, arguments = _read(entry)
        self._fill(self._new(), "" if call_id in self._by_id else call_id, name, arguments)

    def finish(self) -> tuple[list[CallRequested], list[CallFault]]:
        """The calls and the faults, each in the order in which they began."""
        calls: list[CallRequested] = []
        faults: list[CallFault] = []
        for slot in self._slots:
            if self._strays and slot.is_blank:
                slot.fault = slot.fault or UNATTRIBUTED  # its arguments may be among the strays
            outcome = _finished(slot)
            (calls if isinstance(outcome, CallRequested) else faults).append(outcome)  # type: ignore[arg-type]
        if self._strays and not faults:
            faults.append(CallFault(_own_id(), "", UNATTRIBUTED))
        return calls, faults

    def _route(self, call_id: str, index: int | None, name: str, arguments: Any) -> _Slot | None:
        if call_id and call_id in self._by_id:
            return self._by_id[call_id]
        at_index = None if index is None else self._by_index.get(index)
        if at_index is not None and not _starts_anew(at_index, call_id, name, arguments):
            return at_index
        if call_id or index is not None or name:
            return self._new()
        return self._slots[0] if len(self._slots) == 1 else None

    def _new(self) -> _Slot:
        if len(self._slots) >= MAX_CALLS:
            raise ProviderUnavailable(f"more than {MAX_CALLS} calls in one answer")
        self._slots.append(_Slot())
        return self._slots[-1]

    def _fill(self, slot: _Slot, call_id: str, name: str, arguments: Any) -> None:
        if call_id and not slot.id:
            slot.id = call_id
            self._by_id[call_id] = slot
        if name:
            slot.add_name(name)
        slot.add_arguments(arguments)


def _read(fragment: Any) -> tuple[str, int | None, str, Any]:
    """Id, index, name and arguments of an entry; what has the wrong type counts as absent."""
    entry = fragment if isinstance(fragment, dict) else {}
    function = entry.get("function")
    function = function if isinstance(function, dict) else {}
    call_id, index, name = entry.get("id"), entry.get("index"), function.get("name")
    return (
        call_id if isinstance(call_id, str) else "",
        index if isinstance(index, int) and not isinstance(index, bool) else None,
        name if isinstance(name, str) else "",
        function.get("arguments"),
    )


def _starts_anew(slot: _Slot, call_id: str, name: str, arguments: Any) -> bool:
    """Whether a fragment at the slot's index is another call: servers exist that number every call 0."""
    if call_id and slot.id:
        return True  # a known id was routed before
    if not name or not slot.name:
        return False
    if call_id:
        return True
    begins = isinstance(arguments, dict) or (isinstance(arguments, str) and arguments.lstrip().startswith("{"))
    whole = slot.given is not None or slot.looks_whole
    return not slot.is_blank and (name != slot.name or (whole and begins))


def _finished(slot: _Slot) -> CallRequested | CallFault:
    call_id = slot.id if slot.id and len(slot.id) <= MAX_ID and readable(slot.id) == slot.id else _own_id()
    name = join_surrogates(slot.name).strip()
    shown = readable(name)[:MAX_NAME]
    if not name:
        return CallFault(call_id, "", slot.fault or _NO_NAME)
    if shown != name:
        return CallFault(call_id, shown, _BAD_NAME)
    if slot.fault:
        return CallFault(call_id, name, slot.fault)
    try:
        return CallRequested(call_id, name, _arguments(slot))
    except StrictJsonError as error:
        return CallFault(call_id, name, f"The arguments are not one strict JSON object. {error.reason}")


def _arguments(slot: _Slot) -> dict[str, Any]:
    if slot.given is not None and slot.parts:
        raise StrictJsonError("They came both as text and as an object.")
    text = join_surrogates("".join(slot.parts)) if slot.given is None else _as_text(slot.given)
    # The tolerance of D-9 is for the empty string; blanks are what some servers send for it.
    return parse_object(text, max_bytes=MAX_ARGUMENT_BYTES, max_depth=MAX_ARGUMENT_DEPTH) if text.strip() else {}


def _as_text(value: Any) -> str:
    """An object in place of a string, as the text it would have been, so that one strict parse judges both."""
    if _holds_doubled_keys(value):
        raise StrictJsonError("Holds the same key twice in one object.")
    try:
        return json.dumps(value)
    except RecursionError:
        raise StrictJsonError("Is nested too deeply.") from None


def _holds_doubled_keys(value: Any) -> bool:
    level = [value]
    while level:
        if any(isinstance(item, DoubledKeys) for item in level):
            return True
        nested = [item for item in level if isinstance(item, (dict, list))]
        level = [child for item in nested for child in (item.values() if isinstance(item, dict) else item)]
    return False


def _own_id() -> str:
    return f"call_{uuid.uuid4().hex}"
