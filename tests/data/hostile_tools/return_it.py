"""Returns what JSON, or the desk, cannot take."""

from desk_tool import Arguments, Desk, declare


class Args(Arguments):
    what: str


@declare(name="return_it", description="A hostile tool.", risk="read", arguments=Args)
async def run(args: Args, desk: Desk) -> object:
    deep: list[object] = []
    for _ in range(100_000 if args.what == "deeper" else 200):
        deep = [deep]
    return {
        "nan": float("nan"),
        "infinity": float("inf"),
        "deep": deep,
        "deeper": deep,
        "object": object(),
        "set": {1},
        "bytes": b"x",
        "surrogate": "\ud800",
        "nul": "\x00",
        "huge": 2**64,
        "long": "x" * 70_000,
    }[args.what]
