"""The one HTTP adapter: any OpenAI-compatible `/chat/completions` (COP-9, SEC-1 to SEC-3, D-9, D-19, D-25).

Errors carry a status or a kind of failure, never an address, a key, or words of the prompt or the answer. Exceptions
of the HTTP library are never chained: their requests hold the key.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Self

import httpx
from pydantic import SecretStr

from app.core.strict_json import StrictJsonError, parse_object
from app.llm.dialect import Dialect, StructuredOutput
from app.llm.parsing import AnswerStream, as_deltas, parse_completion
from app.llm.port import ChatRequest, Completion, Delta, ProviderUnavailable
from app.llm.ssrf import AddressRefused, check_base_url, public_client

MAX_RESPONSE_BYTES = 2 * 1024 * 1024
MAX_REFUSAL_BYTES = 64 * 1024
MAX_ATTEMPTS = 4
_REST_S = 0.05
"""How long the end of a response may take once its answer is whole."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect, between two pieces of an answer, to send, for a free connection, and for the whole step."""

    connect: float = 5.0
    read: float = 60.0
    write: float = 10.0
    pool: float = 5.0
    overall: float = 120.0


class OpenAICompatProvider:
    """A `ChatProvider` over HTTP. `base_url` ends before `/chat/completions`, e.g. `https://api.openai.com/v1`.

    Raises `ValueError` with a plain line for a base URL that D-19 refuses, or a key that no header can carry.
    `transport` replaces the checked one (tests of that transport).
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        model: str,
        *,
        allow_local: bool = False,
        structured_output: StructuredOutput = "auto",
        timeouts: Timeouts | None = None,
        max_bytes: int = MAX_RESPONSE_BYTES,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        check_base_url(base_url, allow_local=allow_local)
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._models_url = base_url.rstrip("/") + "/models"
        self.model = model
        self._auth = _Bearer(api_key)
        self._dialect = Dialect(model, structured_output)
        self._timeouts = timeouts or Timeouts()
        self._max_bytes = max_bytes
        limits = self._timeouts
        timeout = httpx.Timeout(connect=limits.connect, read=limits.read, write=limits.write, pool=limits.pool)
        self._client = public_client(allow_local=allow_local, timeout=timeout, transport=transport)

    async def stream(self, request: ChatRequest) -> AsyncIterator[Delta]:
        """See `ChatProvider.stream`. Closing the iterator closes the HTTP response."""
        deadline = self._deadline()
        async with self._opened(request, deadline, stream=True) as body:
            if body.is_json:  # an endpoint that cannot stream answers in one piece
                for delta in as_deltas(parse_completion(await body.read_all())):
                    yield delta
                return
            answer = AnswerStream()
            while not answer.done and (chunk := await _next(body, answer)):
                for text in answer.feed(chunk):
                    yield text
            await body.finish()
            for delta in answer.end():
                yield delta

    async def complete(self, request: ChatRequest) -> Completion:
        """See `ChatProvider.complete`."""
        async with self._opened(request, self._deadline(), stream=False) as body:
            return parse_completion(await body.read_all())

    async def models(self) -> list[str]:
        """The ids that the endpoint lists. Raises `ProviderUnavailable`."""
        body = await self._request("GET", self._models_url, b"", self._deadline())
        try:
            body.require_success()
            listed = parse_object(await body.read_all(), max_bytes=self._max_bytes, max_depth=16)
        except StrictJsonError:
            raise ProviderUnavailable("the list of models is not JSON") from None
        finally:
            await body.aclose()
        rows = listed.get("data")
        return [str(row.get("id")) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

    async def aclose(self) -> None:
        """Closes idle connections."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.aclose()

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self._timeouts.overall

    @asynccontextmanager
    async def _opened(self, request: ChatRequest, deadline: float, *, stream: bool) -> AsyncIterator[_Body]:
        """The body of a 2xx answer, after as many concessions as the endpoint asks for (D-25)."""
        for _ in range(MAX_ATTEMPTS):
            sent = self._dialect.body(request, stream=stream)
            body = await self._send(sent, deadline)
            try:
                if body.status != 400:
                    body.require_success()
                    yield body
                    return
                if not self._dialect.concede(sent, await body.read_all(MAX_REFUSAL_BYTES)):
                    break
            finally:
                await body.aclose()
        raise ProviderUnavailable("status 400")

    async def _send(self, content: bytes, deadline: float) -> _Body:
        return await self._request("POST", self._url, content, deadline)

    async def _request(self, method: str, url: str, content: bytes, deadline: float) -> _Body:
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
        request = self._client.build_request(method, url, content=content, headers=headers)
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._client.send(request, stream=True, auth=self._auth)
            return _Body(response, deadline, self._max_bytes)
        except (httpx.HTTPError, TimeoutError) as error:
            reason = _reason(error)
        raise ProviderUnavailable(reason)


class _Body:
    """A response's body under a deadline and a cap on its bytes. Raises only `ProviderUnavailable`."""

    def __init__(self, response: httpx.Response, deadline: float, max_bytes: int) -> None:
        self._response = response
        self._chunks = response.aiter_raw()
        self._deadline = deadline
        self._left = max_bytes
        self.status = response.status_code

    @property
    def is_json(self) -> bool:
        content_type: str = self._response.headers.get("content-type", "")
        return content_type.lower().startswith("application/json")

    def require_success(self) -> None:
        if not self._response.is_success:
            raise ProviderUnavailable(f"status {self.status}")
        if self._response.headers.get("content-encoding", "identity").lower() != "identity":
            raise ProviderUnavailable("compressed answer")

    async def read(self) -> bytes:
        """The next piece, empty at the end."""
        try:
            async with asyncio.timeout_at(self._deadline):
                chunk = await anext(self._chunks, b"")
        except (httpx.HTTPError, httpx.StreamError, TimeoutError) as error:
            reason = _reason(error)
        else:
            self._left -= len(chunk)
            if self._left >= 0:
                return chunk
            reason = "answer is too large"
        raise ProviderUnavailable(reason)

    async def read_all(self, max_bytes: int | None = None) -> bytes:
        self._left = self._left if max_bytes is None else min(self._left, max_bytes)
        parts = []
        while chunk := await self.read():
            parts.append(chunk)
        return b"".join(parts)

    async def finish(self) -> None:
        """Reads what may follow the answer's own end, so that the connection serves the next step too."""
        with suppress(ProviderUnavailable, TimeoutError):
            async with asyncio.timeout(_REST_S):
                while await self.read():
                    pass

    async def aclose(self) -> None:
        await self._response.aclose()


class _Bearer(httpx.Auth):
    """Adds the key when a request leaves; without a key adds nothing. Shows it nowhere (SEC-1)."""

    def __init__(self, key: str) -> None:
        if not key.isascii() or any(char <= " " or char == "\x7f" for char in key):
            raise ValueError("AI_API_KEY: must be printable ASCII without spaces")
        self._key = SecretStr(key)

    def __repr__(self) -> str:
        return "_Bearer()"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if key := self._key.get_secret_value():
            request.headers["Authorization"] = f"Bearer {key}"
        yield request


async def _next(body: _Body, answer: AnswerStream) -> bytes:
    """The next piece; a failure after the answer's own end is only the end."""
    try:
        return await body.read()
    except ProviderUnavailable:
        if answer.finished:
            return b""
        raise


def _reason(error: Exception) -> str:
    if isinstance(error.__cause__, AddressRefused):
        return "address is not public"
    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
        return "connection timed out"
    if isinstance(error, httpx.TimeoutException | TimeoutError):
        return "answer timed out"
    return "connection failed" if isinstance(error, httpx.ConnectError) else "connection broke"
