"""`python -m bench [desk|copilot|triage] [--orders N]`: measures, and writes `bench/results.md`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import click

from app.local.errors import LocalServiceError
from bench.plan import Plan, tiny
from bench.report import PARTS, Row, section, write
from bench.stage import BenchError, Stage, stage

RESULTS = Path(__file__).with_name("results.md")
FOLDER = Path(tempfile.gettempdir()) / "work-order-desk-bench"

Part = Callable[[Stage, Plan], list[Row]]


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(PARTS))
@click.option("--orders", default=1_000_000, show_default=True, help="How many orders the large desk has.")
@click.option("--rounds", default=5, show_default=True, help="How often each side is measured.")
@click.option("--folder", default=FOLDER, type=click.Path(path_type=Path), show_default=True, help="Kept for re-runs.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where the tables go.")
@click.option("--quick", is_flag=True, help="Tiny numbers, to see that everything runs.")
def bench(parts: tuple[str, ...], *, orders: int, rounds: int, folder: Path, results: Path, quick: bool) -> None:
    """Measure the desk beside the plainest programs that do the same: all PARTS, or those named."""
    plan = tiny(folder) if quick else replace(Plan(folder), orders=orders, rounds=rounds)
    with stage(folder) as at:
        for part in parts or PARTS:
            print(f"{part}:", flush=True)
            measure: Part = import_module(f"bench.parts.{part}").run
            write(results, part, section(part, measure(at, plan), plan.setting(part)))
    print(f"Written to {results}")


def main() -> None:
    """One plain line and exit code 1 for what keeps the bench from going on."""
    try:
        bench.main(prog_name="bench", standalone_mode=False)
    except (BenchError, LocalServiceError) as error:
        sys.exit(f"bench: {error}")
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
