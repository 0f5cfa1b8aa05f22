"""Ends badly."""

import ctypes
import os
import sys

from desk_tool import Arguments, Desk, declare


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise SystemExit


class Args(Arguments):
    how: str


@declare(name="fail", description="A hostile tool.", risk="read", arguments=Args)
async def run(args: Args, desk: Desk) -> None:
    if args.how == "long":
        raise RuntimeError("no " * 1_000_000)
    if args.how == "control":
        raise RuntimeError("a\x1b[2J\nb\ud800")
    if args.how == "unspeakable":
        raise Unspeakable
    if args.how == "exit":
        os._exit(0)
    if args.how == "leave":
        sys.exit(0)
    ctypes.string_at(0)
