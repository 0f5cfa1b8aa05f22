"""In the confined process: imports the tool's module, and does the one thing that the desk asks for."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .confinement import Held
from .link import Link
from .plan import Plan

if TYPE_CHECKING:
    from desk_tool import Tool

_LONGEST_MESSAGE = 300


class BadModule(Exception):
    """The module is no tool: what is wrong, and in which of its lines."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        self.message = message
        super().__init__(message)


def serve(link: Link, plan: Plan, held: Held) -> None:
    """Answers one request: `{do: probe | describe | validate | run, module, args}`."""
    sys.path[:] = [*sys.path[1:], *plan.packages]  # this package is loaded; its folder is out of reach by now
    try:
        request = link.receive()
        desk_tool = _import_file("desk_tool", plan.desk_tool)
        if request["do"] == "probe":
            link.send({"held": held.__dict__})
            return
        tool = _load(request["module"], desk_tool)
        _DOING[request["do"]](tool, request.get("args"), link)
    except BadModule as bad:
        link.send({"bad": {"line": bad.line, "message": _cut(bad.message)}})
    except BaseException as error:
        link.send({"failed": _told(error)})


def _import_file(name: str, path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # noqa: S101  # the path ends in .py: told to the type checker
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _load(path: str, desk_tool: ModuleType) -> Tool[Any]:
    """The one tool that the module declares. Raises `BadModule`."""
    try:
        module = _import_file("custom_tool", path)
    except SyntaxError as error:
        at = error.lineno if error.filename == path else None
        raise BadModule(at or 1, f"is not valid Python: {error.msg}") from None
    except PermissionError as error:
        if error.filename != path:
            raise BadModule(_line(error, path), _told(error)) from None
        raise BadModule(1, "cannot be read by the sandbox's user: chmod o+r it, and o+x its folders") from None
    except desk_tool.BadDeclaration as error:
        raise BadModule(_line(error, path), str(error)) from None
    except BaseException as error:
        raise BadModule(_line(error, path), f"cannot be imported: {_told(error)}") from None
    tools = [value for value in vars(module).values() if isinstance(value, desk_tool.Tool)]
    if len(tools) != 1:
        line = tools[1].line if tools else 1
        raise BadModule(line, f"declares {len(tools)} tools; a module declares exactly one, with @declare(...)")
    tool: Tool[Any] = tools[0]
    return tool


def _describe(tool: Tool[Any], _args: object, link: Link) -> None:
    try:
        described = tool.describe()
    except Exception as error:
        raise BadModule(tool.line, f"its arguments have no JSON Schema: {_told(error)}") from None
    link.send({"described": described})


def _validate(tool: Tool[Any], args: object, link: Link) -> None:
    try:
        accepted = tool.accept(args)
    except ValueError as error:
        link.send({"refused": _cut(str(error))})
    else:
        link.send({"done": accepted.model_dump(mode="json")})


def _run(tool: Tool[Any], args: object, link: Link) -> None:
    try:
        accepted = tool.accept(args)
    except ValueError as error:
        link.send({"refused": _cut(str(error))})
        return
    result = asyncio.run(tool.call(accepted, link.ask))
    try:
        link.send({"done": result})
    except (TypeError, ValueError, RecursionError) as error:
        link.send({"failed": _cut(f"its result cannot be handed over: {error}")})


_DOING: dict[str, Callable[[Tool[Any], object, Link], None]] = {
    "describe": _describe,
    "validate": _validate,
    "run": _run,
}


def _line(error: BaseException, path: str) -> int:
    """The last line of the module that the error came through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return lines[-1] or 1 if lines else 1


def _told(error: BaseException) -> str:
    try:
        return _cut(f"{type(error).__name__}: {error}")
    except BaseException:  # its __str__ is the tool's code
        return _cut(type(error).__name__)


def _cut(text: str) -> str:
    """One printable line of bounded length: the desk takes neither NUL nor half of a surrogate pair."""
    line = "".join(char if char.isprintable() else " " for char in text[: _LONGEST_MESSAGE + 1])
    return line if len(line) <= _LONGEST_MESSAGE else line[: _LONGEST_MESSAGE - 1] + "…"
