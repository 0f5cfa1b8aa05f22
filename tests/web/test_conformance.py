"""Schemathesis over the OpenAPI document: no 5xx, and no answer outside the schema (issue "The whole base desk")."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.conftest import Server
from tests.copilot.talk import make_order, open_session, say_to

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
ENDS_THE_SESSION = r"/auth/|/users/me/password|/admin/users/.*/(role|status)"
"""Would sign the requests' person out, or count failures against them; the other tests send those."""
STREAMS = r"/(events|messages|agent-chat)$"
"""OpenAPI 3.1 has no words for the events of a stream; test_api_document.py checks each against its schema."""


async def _known_ids(server: Server, who: str) -> tuple[str, dict[str, str]]:
    """A signed-in person's cookies, and things of theirs that the addresses can name."""
    client = await server.sign_in_as(who)
    order = await make_order(client, priority="low")
    session = await open_session(client)
    async with say_to(client, session, "raise the pump order to high") as stream:
        call = (await stream.until("tool_approval_required")).data["toolCallId"]
    ids = {"order_id": order["id"], "session_id": session, "run_id": stream.run_id, "call_id": call}
    return "; ".join(f"{name}={value}" for name, value in client.cookies.items()), ids


async def _schemathesis(server: Server, who: str, folder: Path) -> tuple[int, str]:
    cookies, ids = await _known_ids(server, who)
    lines = "".join(f'"path.{name}" = "{value}"\n' for name, value in ids.items())
    (folder / "schemathesis.toml").write_text(f"[parameters]\n{lines}")
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).parent / "schemathesis"), "run", f"{server.url}/api/openapi.json",
        "--header", f"Cookie: {cookies}", "--checks", CHECKS, "--phases", "examples,coverage,fuzzing",
        "--max-examples", "12", "--generation-deterministic", "--workers", "2", "--no-color",
        "--exclude-path-regex", f"{ENDS_THE_SESSION}|{STREAMS}", "--request-timeout", "10",
        cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output, _ = await asyncio.wait_for(process.communicate(), 110)
    return process.returncode or 0, output.decode()


async def test_no_request_gets_a_5xx_or_an_answer_outside_the_schema(server: Server, tmp_path: Path) -> None:
    """HTTP-2, HTTP-3: generated requests, good and bad, by a dispatcher."""
    code, output = await _schemathesis(server, "dispatcher", tmp_path)
    assert code == 0, output[-6000:]
