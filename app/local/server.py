"""One embedded server on one folder: started once, shared by every process that asks, ended by the last one.

`<folder>/lock` is held while anyone starts or stops it. `<folder>/users` is held shared by each process that uses
it, so a killed user counts no more: the next start finds the server, uses it, and ends it in its turn. Whether what
answers at the recorded port is really the server of this folder is asked of the server itself.
"""

from __future__ import annotations

import json
import shutil
import socket
import time
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from app.local import processes
from app.local.binaries import why_it_ended
from app.local.errors import LocalServiceError
from app.local.locks import UseCount, exclusive
from app.local.ports import free_port

_LOCK_TIMEOUT_S = 120
_START_TIMEOUT_S = 60
_STOP_GRACE_S = 20
_POLL_S = 0.02
_START_ATTEMPTS = 3


class ServerKind(ABC):
    """What differs between MongoDB and Valkey."""

    name: ClassVar[str]
    folder: ClassVar[str]
    """The name of its folder under the desk's own."""

    @abstractmethod
    def find(self) -> Path:
        """The program. Raises `LocalServiceError` when there is none."""

    @abstractmethod
    def command(self, program: Path, folder: Path, data: Path, port: int) -> list[str]:
        """The command line, which holds `data` as an argument of its own."""

    @abstractmethod
    def process_serving(self, port: int, data: Path) -> int | None:
        """The process id of the server at `port`, when it answers and `data` is its folder."""

    @abstractmethod
    def address(self, port: int) -> str:
        """The URI for clients."""


@dataclass(frozen=True, slots=True)
class _State:
    port: int
    pid: int


class EmbeddedServer:
    """A server of `kind` on `desk_dir/<kind.folder>`. `ephemeral` data is wiped before a start and after the stop."""

    def __init__(self, kind: ServerKind, desk_dir: Path, *, ephemeral: bool = False) -> None:
        self._kind = kind
        self._folder = desk_dir.resolve() / kind.folder
        self._data = self._folder / "data"
        self._state_path = self._folder / "state.json"
        self._ephemeral = ephemeral
        self._users = UseCount(self._folder / "users")

    def start(self) -> str:
        """The address of the running server, started if need be. Raises `LocalServiceError`."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._locked():
            self._users.join()
            try:
                return self._kind.address(self._find_running() or self._start())
            except BaseException:
                self._users.leave()
                raise

    def stop(self) -> None:
        """Gives the server up; the last user ends it and waits until it is gone."""
        with self._locked():
            self._users.leave()
            if self._users.is_unused():
                self._end()
                if self._ephemeral:
                    shutil.rmtree(self._data, ignore_errors=True)

    def clear(self) -> None:
        """Deletes the data of a server that nobody uses. Raises `LocalServiceError` when somebody does."""
        if not self._folder.exists():
            return
        with self._locked():
            if not self._users.is_unused():
                raise LocalServiceError("The desk is running. Stop it first (Ctrl-C where it runs), then try again.")
            self._end()
            shutil.rmtree(self._data, ignore_errors=True)

    def _locked(self) -> AbstractContextManager[None]:
        return exclusive(self._folder / "lock", timeout_s=_LOCK_TIMEOUT_S)

    def _find_running(self) -> int | None:
        """The port of the server that already runs on this folder; one that is still starting is waited for."""
        state = self._read_state()
        if state is None:
            return None
        deadline = time.monotonic() + _START_TIMEOUT_S
        while self._process_at(state.port) is None:
            if not processes.is_running_with(state.pid, str(self._data)):
                return None
            if time.monotonic() > deadline:
                raise LocalServiceError(
                    f"Process {state.pid} holds {self._data} and does not answer. End it and try again."
                )
            time.sleep(_POLL_S)
        return state.port

    def _start(self) -> int:
        program = self._kind.find()
        if self._ephemeral:
            shutil.rmtree(self._data, ignore_errors=True)
        self._data.mkdir(exist_ok=True, mode=0o700)
        for _ in range(_START_ATTEMPTS):
            port = free_port()
            fault = self._start_at(program, port)
            if fault is None:
                return port
            if "in use" not in fault.lower():
                break
        raise LocalServiceError(fault)

    def _start_at(self, program: Path, port: int) -> str | None:
        """None when the server answers at `port`, else why it does not."""
        output = self._folder / "start.log"
        try:
            pid = processes.spawn_detached(self._kind.command(program, self._folder, self._data, port), output)
        except OSError as error:
            return f"{program} cannot be run: {error.strerror or error}."
        try:
            self._write_state(_State(port, pid))
            return self._await_answer(program, port, pid)
        except BaseException:
            processes.end(pid, grace_s=_STOP_GRACE_S)
            raise

    def _await_answer(self, program: Path, port: int, pid: int) -> str | None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while self._process_at(port) != pid:
            code = processes.exit_code(pid)
            if code is not None:
                return why_it_ended(program, code, self._said())
            if time.monotonic() > deadline:
                raise LocalServiceError(
                    f"{self._kind.name} did not answer within {_START_TIMEOUT_S} s. See {self._folder}."
                )
            time.sleep(_POLL_S)
        return None

    def _said(self) -> str:
        """What the program printed, and the end of its own log."""
        return "\n".join(log.read_text(errors="replace")[-4000:] for log in sorted(self._folder.glob("*.log")))

    def _process_at(self, port: int) -> int | None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return None
        return self._kind.process_serving(port, self._data)

    def _end(self) -> None:
        state = self._read_state()
        if state is None:
            return
        pid = self._process_at(state.port)
        if pid is None and processes.is_running_with(state.pid, str(self._data)):
            pid = state.pid
        if pid is not None:
            processes.end(pid, grace_s=_STOP_GRACE_S)
        self._state_path.unlink(missing_ok=True)

    def _read_state(self) -> _State | None:
        with suppress(OSError, ValueError, TypeError):
            return _State(**json.loads(self._state_path.read_text()))
        return None

    def _write_state(self, state: _State) -> None:
        draft = self._state_path.with_suffix(".new")
        draft.write_text(json.dumps(asdict(state)))
        draft.replace(self._state_path)
