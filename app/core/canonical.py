"""Canonical JSON (RFC 8785) and its SHA-256: "what was shown is what runs" (D-8, D-23)."""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785


def canonical_json(value: Any) -> bytes:
    """The RFC 8785 form of `value`. Raises `rfc8785.CanonicalizationError` for what JSON cannot carry."""
    return rfc8785.dumps(value)


def sha256_hex(value: Any) -> str:
    """SHA-256 hex of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
