"""What one call of a custom tool may use (T-11)."""

from __future__ import annotations

from dataclasses import dataclass

_KB, _MB = 1024, 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Per call, but for the last two. Start-up counts: about 0.3 s of wall and CPU time."""

    wall_s: float = 5.0
    cpu_s: int = 3
    memory_bytes: int = 256 * _MB  # address space
    threads: int = 8
    descriptors: int = 64
    file_bytes: int = 1 * _MB
    scratch_bytes: int = 8 * _MB
    scratch_files: int = 200
    message_bytes: int = 64 * _KB  # the result, and each message on the pipe
    questions: int = 20  # that it may ask the desk
    concurrent: int = 4
    queue_s: float = 5.0
