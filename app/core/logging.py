"""Structured logs: one JSON object a line in production, plain lines in development.

What must never be logged is cut by key before rendering (SEC-1, SEC-10): secrets, cookies, prompt text.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

_NEVER = frozenset(
    {
        "password", "passwordhash", "password_hash", "currentpassword", "newpassword", "token", "access_token",
        "refresh_token", "confirmation_token", "confirmationtoken", "api_key", "ai_api_key", "authorization",
        "cookie", "set-cookie", "secret", "jwt_secret", "cookie_secret", "audit_key", "smtp_url", "content",
        "prompt", "messages", "body",
    }
)  # fmt: skip


def _redact(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    return {key: "[redacted]" if key.lower() in _NEVER else value for key, value in event.items()}


def configure_logging(level: str, *, as_json: bool) -> None:
    """Sets up structlog and the standard library's root logger to write the same lines to stderr."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _redact,
    ]
    renderer: Any = structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=False)
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                renderer,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for noisy in ("httpx", "httpcore", "pymongo", "asyncio", "uvicorn.access"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """A logger whose events are short snake_case names with key-value pairs."""
    logger: structlog.stdlib.BoundLogger = structlog.get_logger(name)
    return logger
