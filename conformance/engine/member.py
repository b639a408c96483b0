"""What a judge and a timer share: how the process begins, takes requests, and tells a defect of the harness."""

from __future__ import annotations

import faulthandler
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from conformance.engine.ipc import Channel, Closed
from conformance.engine.messages import Compile, Compiled, Ready, Refused, Setup, from_map, to_map
from conformance.engine.modes import Mode
from conformance.engine.progress import Progress
from conformance.port.sources import SourceError
from conformance.processes import Supervisor, die_with_parent
from conformance.runtimes.hip.errors import HipError

SECONDS_TO_SET_UP = 60.0


class Member(Protocol):
    """A process that answers requests."""

    @property
    def ready(self) -> Ready | None:
        """What it runs on, where it owns a device."""

    def answer(self, request: Any) -> Any:
        """The answer to a request; raises ``ValueError`` for bad input."""

    def no_answer(self, request: Any, why: str) -> Any:
        """The answer to a request, but ``Compile``, where the harness failed."""


MemberFactory = Callable[[Channel, Progress, Setup, Any, Supervisor], Member]
"""Makes the member of a setup and a mode; the channel is for what it asks of the process that started it."""


def run_member(make: MemberFactory) -> None:
    """Serve until the other side closes, as ``python -m MODULE SOCKET_FD PROGRESS_FD PARENT_PID``."""
    die_with_parent(int(sys.argv[3]))
    faulthandler.enable()
    with Supervisor() as supervisor:
        try:
            _serve(make, Channel.adopt(int(sys.argv[1])), Progress(int(sys.argv[2])), supervisor)
        except Closed:
            return


def _serve(make: MemberFactory, channel: Channel, progress: Progress, supervisor: Supervisor) -> None:
    """Take a ``Setup`` with a mode, answer ``Ready``, nothing or ``Refused``, then answer requests."""
    message, _ = channel.receive(SECONDS_TO_SET_UP)
    setup: Setup = from_map(message)
    mode: Mode = from_map(message["mode"])
    try:
        member = make(channel, progress, setup, mode, supervisor)
    except (SourceError, HipError, RuntimeError, OSError, ValueError) as error:
        channel.send({"say": "answer", "id": 0, **to_map(Refused(str(error)))})
        return
    channel.send({"say": "answer", "id": 0, **({"kind": None} if member.ready is None else to_map(member.ready))})
    while True:
        message, _ = channel.receive()
        answer = _answer(member, from_map(message))
        progress.begin("")
        channel.send({"say": "answer", "id": message["id"], **to_map(answer)})


def _answer(member: Member, request: Any) -> Any:
    try:
        return member.answer(request)
    except ValueError as error:
        return Refused(str(error))
    except Exception as error:  # a defect of the harness must cost one kernel or case, not the record
        why = defect(error)
        if isinstance(request, Compile):
            return Compiled(request.source, 0.0, None, request.tree, infrastructure=why)
        return member.no_answer(request, why)


def defect(error: Exception) -> str:
    """A defect of the harness in words: what was raised, and where."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"the harness failed: {error!r} at {Path(where.filename).name}:{where.lineno}"
