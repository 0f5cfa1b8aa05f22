"""The rules of `.dockerignore` as far as ours uses them: `*`, `!folder`, `**/name`; the last that matches decides."""

from __future__ import annotations

from fnmatch import fnmatch

from tests.deploy.files import text


def is_sent(path: str) -> bool:
    """Whether `path` reaches the build."""
    sent = True
    for line in text(".dockerignore").splitlines():
        rule = line.strip()
        if not rule or rule.startswith("#"):
            continue
        pattern, admits = (rule[1:], True) if rule.startswith("!") else (rule, False)
        if _matches(path, pattern):
            sent = admits
    return sent


def _matches(path: str, pattern: str) -> bool:
    """A rule holds for what it names and for all that lies in it."""
    parts = path.split("/")
    if pattern.startswith("**/"):
        return any(fnmatch(part, pattern[3:]) for part in parts)
    return fnmatch(parts[0], pattern)
