"""The `desk` command. Each command reads the settings first: a bad one is one line on stderr and exit code 1.

What a command runs is imported when it runs: `desk --help` needs none of it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import NoReturn

import click

from app.core.settings import Settings, SettingsError, load_settings
from app.local.errors import LocalServiceError
from app.local.signals import raise_on_stop_signals, stop_signals_ignored_at_exit

_INTERRUPTED = 130


@click.group()
def desk() -> None:
    """Work Order Desk."""


@desk.command()
def up() -> int:
    """Start everything on this machine: services, seed, web, worker, demo model."""
    from app.local import launcher  # noqa: PLC0415

    return launcher.up(load_settings(), _say)


@desk.command()
def web() -> int:
    """Serve the pages and the API."""
    from app.local.ports import bind  # noqa: PLC0415
    from app.serving import web_server  # noqa: PLC0415

    settings = load_settings()
    with bind(settings.host, settings.port) as listener, _stores(settings), _until_stopped():
        server = web_server(settings)
        server.run(sockets=[listener])
        return 0 if server.started else 1
    return 0


@desk.command()
def worker() -> None:
    """Run the triage agent and the sweepers."""
    with _stores(load_settings()) as settings, _until_stopped():
        from worker.main import run  # noqa: PLC0415

        run(settings)


@desk.command()
def seed() -> None:
    """Create the three users and the sample work orders, once."""
    with _stores(load_settings()) as settings:
        _seed(settings)


@desk.command()
def services() -> None:
    """Run MongoDB and Valkey alone, until Ctrl-C."""
    with _stores(load_settings()) as settings, _until_stopped():
        _say(f"MONGODB_URI={_without_password(settings.mongodb_uri)}")
        _say(f"REDIS_URL={_without_password(settings.redis_url)}")
        threading.Event().wait()


@desk.command("demo-model")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8100, show_default=True, type=click.IntRange(1, 65535))
def demo_model(host: str, port: int) -> None:
    """Serve the demo model: an OpenAI-compatible server of keyword rules, no language model."""
    from app.llm.demo.server import serve  # noqa: PLC0415
    from app.local.ports import require_free  # noqa: PLC0415

    require_free(host, port)
    with _until_stopped():
        asyncio.run(serve(host, port))


@desk.command("demo-connections")
@click.option("--inventory-port", default=8791, show_default=True, type=click.IntRange(1, 65535))
@click.option("--notifications-port", default=8792, show_default=True, type=click.IntRange(1, 65535))
def demo_connections(inventory_port: int, notifications_port: int) -> None:
    """Serve the two systems of the shipped connections: a parts inventory and a notification hook."""
    from app.local.demo_connections import serve  # noqa: PLC0415

    with _until_stopped():
        serve(inventory_port, notifications_port, _say)


@desk.command("local-model")
@click.option("--port", default=8101, show_default=True, type=click.IntRange(1, 65535))
def local_model(port: int) -> None:
    """Serve a real, small language model on this machine, and say how to use it (extra local-model)."""
    from app.local import local_model as model  # noqa: PLC0415

    with model.local_model(load_settings().desk_dir / "local-model", port) as address, _until_stopped():
        _say("# For .env; then start the desk. Ctrl-C ends the model.")
        for key, value in model.settings_for(address).items():
            _say(f"{key}={value}")
        threading.Event().wait()


@desk.command()
@click.option("--provider", is_flag=True, help="Play known-bad streams to the adapter, and probe the configured one.")
def doctor(provider: bool) -> int:
    """Check the settings and the stores, and with --provider the language model."""
    settings = load_settings()
    from app.examination import examine_provider  # noqa: PLC0415

    good = asyncio.run(examine_provider(settings, _say)) if provider else _examine_stores(settings)
    return 0 if good else 1


@desk.group()
def audit() -> None:
    """The audit trail of what dispatchers changed and looked at."""


@audit.command("verify")
@click.option("--head", help="A head that was kept elsewhere: it must still be part of the chain.")
def audit_verify(head: str | None) -> int:
    """Walk the chain, name the first row that was changed or is missing, print the head."""
    from app.governance.assembly import verify_audit  # noqa: PLC0415

    with _stores(load_settings()) as settings:
        found = asyncio.run(verify_audit(settings, head))
    _say(f"{found.rows} {'row holds' if found.rows == 1 else 'rows hold'}")
    _say(f"head {found.head}")
    if found.fault:
        _fail([f"BROKEN: {found.fault}"])
    return 0


@desk.command("demo-reset")
def demo_reset() -> None:
    """Delete the embedded data of a stopped desk and seed it anew."""
    from app.local.services import clear_data  # noqa: PLC0415

    settings = load_settings()
    if settings.mongodb_uri or settings.redis_url:
        raise LocalServiceError("MONGODB_URI or REDIS_URL is set: demo-reset clears only the embedded data.")
    clear_data(settings.desk_dir)
    with _stores(settings) as seeded:
        _seed(seeded)


def main() -> NoReturn:
    """Runs the command line and exits."""
    raise_on_stop_signals()
    try:
        code = desk.main(standalone_mode=False, prog_name="desk")
    except SettingsError as error:
        _fail(error.lines)
    except LocalServiceError as error:
        _fail([str(error)])
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(_INTERRUPTED)
    sys.exit(code or 0)


def _examine_stores(settings: Settings) -> bool:
    from app.examination import missing_stores  # noqa: PLC0415

    _say("ok    settings")
    with _stores(settings) as found:
        missing = asyncio.run(missing_stores(found))
    for name in ("mongodb", "redis"):
        _say(f"{'FAIL' if name in missing else 'ok  '}  {name}")
    return not missing


def _until_stopped() -> AbstractContextManager[None]:
    """What runs until it is stopped ends well when it is."""
    return suppress(KeyboardInterrupt)


@contextmanager
def _stores(settings: Settings) -> Iterator[Settings]:
    """The settings with the addresses of MongoDB and Valkey, in the environment too; embedded ones if none are set."""
    from app.local.services import start_services  # noqa: PLC0415

    if settings.is_production:
        yield settings
        return
    with (
        start_services(settings.desk_dir, mongodb_uri=settings.mongodb_uri, redis_url=settings.redis_url) as running,
        stop_signals_ignored_at_exit(),
    ):
        os.environ.update(running.environment)
        yield settings.model_copy(update={"mongodb_uri": running.mongodb_uri, "redis_url": running.redis_url})


def _seed(settings: Settings) -> None:
    from app.seed import run  # noqa: PLC0415

    for line in asyncio.run(run(settings)).lines():
        _say(line)


def _without_password(address: str) -> str:
    scheme, _, rest = address.partition("://")
    return f"{scheme}://…@{rest.rpartition('@')[2]}" if "@" in rest else address


def _say(line: str) -> None:
    with suppress(OSError):  # a terminal that is gone must not keep the children from being stopped
        print(line, flush=True)


def _fail(lines: list[str]) -> NoReturn:
    for line in lines:
        print(line, file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
