"""A judge of the reference by recorded answers.

Started as ``python -m conformance.engine.reference_judge SOCKET_FD PROGRESS_FD PARENT_PID``, or as a copy of the
command that calls ``serve``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

from conformance.engine.coding import Expected
from conformance.engine.ipc import Channel, Progress
from conformance.engine.messages import MemberKind, Ready, RunCases, Setup, run_member
from conformance.engine.recordings import JudgeReference
from conformance.outcome import Outcome
from conformance.processes import InfrastructureError, Supervisor
from conformance.verdict.judge import recorded_answer
from conformance.verdict.loop import Answers, run_cases
from reference import NoReference


class ReferenceJudge:
    """Answers ``RunCases`` by comparing the reference with recorded answers. Nothing is compiled or launched."""

    ready: Ready | None = None

    def __init__(self, progress: Progress, setup: Setup, mode: JudgeReference) -> None:
        self._progress = progress
        self._setup = setup
        self._mode = mode

    def ahead(self) -> Iterator[None]:
        """Nothing."""
        return iter(())

    def answer(self, request: RunCases) -> Outcome:
        """The outcome of one kernel's reference. Raises ``TraceError`` and other ``ValueError`` for bad input."""
        kernel, mode, begin = request.kernel, self._mode, self._progress.begin
        begin(kernel.name)
        cases = mode.cases(kernel, request.parsed(), self._setup.salt)
        answers = Answers(recorded_answer, ("recorded",))
        try:
            return run_cases(kernel, cases, answers, mode.handler(kernel), self._setup.command_for(kernel), begin)
        except InfrastructureError as failed:
            return Outcome.infrastructure(kernel.name, str(failed))
        except NoReference as error:
            return Outcome(name=kernel.name, status="not_run", message=str(error))


def _make(
    channel: Channel, progress: Progress, setup: Setup, mode: JudgeReference, supervisor: Supervisor
) -> ReferenceJudge:
    return ReferenceJudge(progress, setup, mode)


MODES: Expected[JudgeReference] = Expected(JudgeReference)
REQUESTS: Expected[RunCases] = Expected(RunCases)

serve = partial(run_member, MemberKind(_make, MODES, REQUESTS))
"""As ``run_member``, of such a judge."""


if __name__ == "__main__":
    serve(*map(int, sys.argv[1:]))
