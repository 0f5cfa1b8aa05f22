"""Secrets of a desk in development: made once, kept in a private file, shared by its processes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection
from pathlib import Path


def kept_secrets(folder: Path, names: Collection[str]) -> dict[str, str]:
    """A secret for each of `names`, from `<folder>/secrets` (mode 600)."""
    path = folder / "secrets"
    folder.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        draft = folder / f"secrets.{os.getpid()}"
        lines = "".join(f"{key}={secrets.token_urlsafe(48)}\n" for key in names)
        draft.touch(mode=0o600)
        draft.write_text(lines)
        try:
            os.link(draft, path)  # the first of several starting processes wins, whole
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    pairs = (line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
    return {key: value for key, value in pairs if key in names}
