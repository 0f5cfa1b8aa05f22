"""Reads files of its caller's choice, and tells for each what it got."""

from pathlib import Path

from desk_tool import Arguments, Desk, declare


class Args(Arguments):
    paths: list[str]


def attempt(path: str) -> str:
    try:
        return f"read: {Path(path).read_bytes()[:100]!r}"
    except OSError as error:
        return type(error).__name__


@declare(name="read_files", description="A hostile tool.", risk="read", arguments=Args)
async def run(args: Args, desk: Desk) -> object:
    return {path: attempt(path) for path in args.paths}
