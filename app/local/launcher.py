"""`desk up`: the whole desk on one machine, for development: services, seed, web, worker and the demo model."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

import httpx
from pydantic_settings import DotEnvSettingsSource, EnvSettingsSource

from app.core.settings import Settings
from app.local.children import ChildSpec, Write
from app.local.demo_connections import DemoConnections, choose_demo_connections
from app.local.errors import LocalServiceError
from app.local.ports import free_port, require_free
from app.local.services import start_services
from app.local.signals import stop_signals_ignored_at_exit
from app.local.supervisor import Supervisor

_READY_TIMEOUT_S = 90
_READY_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Copilot:
    """How `desk up` runs the copilot: a `note` for the person, and the port of the demo model where that is used."""

    note: str
    demo_port: int | None = None

    @property
    def environment(self) -> dict[str, str]:
        if self.demo_port is None:
            return {}
        return {
            "AI_ENABLED": "true",
            "AI_ALLOW_LOCAL_PROVIDER": "true",
            "AI_BASE_URL": f"http://127.0.0.1:{self.demo_port}/v1",
            "AI_MODEL": "demo",
        }


def up(settings: Settings, write: Write) -> int:
    """Runs the desk until a signal or the end of a child; the exit code. Raises `LocalServiceError`."""
    if settings.is_production:
        raise LocalServiceError("`desk up` is for development. In production run `desk web` and `desk worker`.")
    require_free(settings.host, settings.port)
    copilot = choose_copilot(settings)
    local_allowed = settings.local_provider_allowed or copilot.demo_port is not None
    connections = choose_demo_connections(settings, local_allowed=local_allowed)
    if connections.note:
        write(connections.note)
    write("Starting MongoDB and Valkey …")
    with (
        start_services(settings.desk_dir, mongodb_uri=settings.mongodb_uri, redis_url=settings.redis_url) as services,
        stop_signals_ignored_at_exit(),
    ):
        environment = {**services.environment, **copilot.environment, **connections.environment}
        return asyncio.run(_supervise(settings, copilot, connections, environment, write))


def choose_copilot(settings: Settings) -> Copilot:
    """A provider that was configured, or an explicit no, is kept; nothing at all means the demo model."""
    if settings.ai_enabled:
        return Copilot(f"The copilot uses {settings.ai_model} at {settings.ai_base_url}")
    if _is_set("ai_enabled"):
        return Copilot("The copilot is off (AI_ENABLED=false).")
    if settings.ai_base_url:
        return Copilot("The copilot is off: AI_BASE_URL is set, AI_ENABLED is not. Set AI_ENABLED=true to use it.")
    return Copilot("The copilot runs on the demo model: keyword rules, no language model.", free_port())


def greeting(settings: Settings, copilot: Copilot) -> list[str]:
    """What a newcomer needs: the address, the sign-ins, the state of the copilot. A changed password is not shown."""
    lines = ["", f"The desk is ready: {settings.public_url}", "", "Sign in as"]
    for role in ("admin", "user", "viewer"):
        email = getattr(settings, f"seed_{role}_email")
        lines.append(f"  {email:<24} {_password(settings, role):<16} ({role})")
    return [*lines, "", copilot.note, "Ctrl-C stops everything.", ""]


async def _supervise(
    settings: Settings, copilot: Copilot, connections: DemoConnections, environment: Mapping[str, str], write: Write
) -> int:
    async def ready() -> None:
        await until_healthy(_local_url(settings))
        for line in greeting(settings, copilot):
            write(line)

    children = [_desk("web", environment), _desk("worker", environment)]
    if copilot.demo_port is not None:
        children.insert(0, _desk("demo-model", environment, "--port", str(copilot.demo_port)))
    if connections.starts:
        children.insert(0, _desk("demo-connections", environment))
    return await Supervisor(write).run(children, before=[_desk("seed", environment)], ready=ready)


async def until_healthy(url: str, *, timeout_s: float = _READY_TIMEOUT_S) -> None:
    """Returns once `GET <url>/health` answers 200. Raises `LocalServiceError` after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=2) as client:
        while not await _answers(client):
            if time.monotonic() > deadline:
                raise LocalServiceError(f"The web process did not answer {url}/health within {timeout_s:.0f} s.")
            await asyncio.sleep(_READY_POLL_S)


async def _answers(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/health")).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _desk(command: str, environment: Mapping[str, str], *options: str) -> ChildSpec:
    return ChildSpec(command, [sys.executable, "-m", "app.cli", command, *options], environment)


def _local_url(settings: Settings) -> str:
    """The address at which this machine reaches the web process."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104 - read, not bound
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def _password(settings: Settings, role: str) -> str:
    name = f"seed_{role}_password"
    password = getattr(settings, name)
    return password.get_secret_value() if password == Settings.model_fields[name].default else f"(your {name.upper()})"


def _is_set(name: str) -> bool:
    """Whether the environment or `.env` gives the setting a value; an empty one counts as none."""
    sources = (EnvSettingsSource(Settings), DotEnvSettingsSource(Settings))
    return any(source().get(name) not in (None, "") for source in sources)
