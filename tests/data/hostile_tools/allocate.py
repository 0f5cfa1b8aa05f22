"""Takes 10 GB, at once or bit by bit."""

from desk_tool import Arguments, Desk, declare


class Args(Arguments):
    at_once: bool


@declare(name="allocate", description="A hostile tool.", risk="read", arguments=Args)
async def run(args: Args, desk: Desk) -> object:
    if args.at_once:
        return len(bytearray(10 * 1024**3))
    kept = []
    while True:
        kept.append(bytearray(1024**2))
