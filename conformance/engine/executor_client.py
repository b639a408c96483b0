"""Executors for a judge: asked of the process that started the judge, which also says how a lost one ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.engine.ipc import Channel, Closed, Garbled, Late
from conformance.engine.messages import Ready, from_map
from conformance.engine.patience import hang_seconds
from conformance.engine.progress import Progress
from conformance.engine.remote_executor import Executor, Lost
from conformance.processes import InfrastructureError

TRIES = 5
"""Executors that may end between being handed over and the first request."""

SECONDS_FOR_AN_EXECUTOR = 600.0
"""For the process that started us to answer; it has limits of its own, well below."""


@dataclass(frozen=True)
class End:
    """How an executor ended, and whether what this judge asked of it may have been the cause."""

    how: str
    suspect: bool


class Supply:
    """The judge's current executor, if any. ``changed`` is called when another one takes its place."""

    def __init__(self, channel: Channel, changed: Callable[[], None]) -> None:
        self._channel = channel
        self._changed = changed
        self._executor: Executor | None = None
        self._ready: Ready | None = None
        self._borrowed = False
        self._touched = False

    @property
    def ready(self) -> Ready:
        """What the executors run on. Raises ``InfrastructureError``."""
        if self._ready is None:
            self.current()
        assert self._ready is not None
        return self._ready

    def current(self) -> Executor:
        """The executor to use. Raises ``InfrastructureError`` when none can be had."""
        if self._executor is None:
            self._take(alone=False)
        assert self._executor is not None
        return self._executor

    def settle(self) -> None:
        """Go back to the executor that the judges of a device share, if there is one, after a trial alone."""
        if self._borrowed and not self.ready.guards_memory:
            self.discard()

    def touch(self) -> bool:
        """Say that the executor is about to load or run something; whether it has not done so before."""
        self.current()
        fresh, self._touched = not self._touched, True
        return fresh

    def alone(self) -> None:
        """Take a fresh executor that no other judge uses, in place of the current one."""
        self.discard()
        self._take(alone=True)

    def discard(self) -> None:
        """Give up the current executor; one that is shared goes on for the others."""
        if self._executor is not None:
            self._executor.close()
            self._executor = None

    def lost(self, lost: Lost) -> End:
        """Report the current executor as lost, have it stopped if need be, and learn how it ended."""
        self.discard()
        answer = self._ask({"say": "lost", "stop": lost.kind != "ended"})[0]
        how = str(answer["how"]) if lost.kind == "ended" else str(lost)
        return End(how, bool(answer["suspect"]))

    def _take(self, alone: bool) -> None:
        for _ in range(TRIES):
            answer, descriptors = self._ask({"say": "executor", "alone": alone})
            if "why" in answer:
                raise InfrastructureError(str(answer["why"]))
            link, page = descriptors
            self._ready = from_map(answer["ready"])
            channel = Channel.adopt(link)
            try:
                self._executor = Executor(channel, Progress(page), self._ready.pad, hang_seconds())
            except Lost as lost:  # to a kernel of another judge that shares it, since it was handed to us
                channel.close()
                self.lost(lost)
                continue
            self._touched = bool(answer["shared"])
            self._borrowed = alone
            self._changed()
            return
        raise InfrastructureError(f"{TRIES} executors ended before they could be asked for anything")

    def _ask(self, message: dict[str, object]) -> tuple[dict[str, Any], list[int]]:
        try:
            self._channel.send(message)
            return self._channel.receive(SECONDS_FOR_AN_EXECUTOR)
        except (Closed, Garbled, Late) as error:
            raise SystemExit(f"the process that started this judge does not answer: {error}") from None
