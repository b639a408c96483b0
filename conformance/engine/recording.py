"""Recording: what a kernel left in its buffers is kept, whatever that is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from conformance.cases.launch import Buffer
from conformance.replay.recorder import Recorder
from conformance.verdict.compare import Mismatch
from conformance.verdict.loop import Buffers, Counts, Damage
from conformance.verdict.trials import TrialCase


class RecordingHandler:
    """Writes the answers of ``kernel`` into ``folder``; none is judged.

    The outcome is ``pass`` when every case has an answer. A launch that faults, does not end, or writes where it must
    not (outside a buffer, into an input) has none: it counts as failed, and the other cases are kept.
    """

    def __init__(self, kernel: str, folder: Path) -> None:
        self._kernel, self._folder = kernel, folder
        self._recorder = Recorder()

    def begin(self, case: TrialCase) -> None:
        """Nothing is known of a case before its answer."""

    def take(self, case: TrialCase, buffers: Buffers, again: bool = False) -> Mismatch | None:
        """Keep an answer, copied: the next launch writes over it. Raises ``Damage``."""
        _refuse_written_inputs(case, buffers)
        self._recorder.add(case.case, case.launch, {name: content.copy() for name, content in buffers.items()})
        return None

    def is_right(self, case: TrialCase, buffers: Buffers) -> bool:
        """Nobody judges what is recorded."""
        return False

    def finish(self, counts: Counts) -> dict[str, Any]:
        """Write what was kept; the status is of the launches."""
        self._recorder.write(self._folder, self._kernel)
        if not counts.cases and not counts.left_out:
            return {"status": "not_run", "message": "it has no cases"}
        return {"status": counts.failed_status if counts.failed else "pass"}


def _refuse_written_inputs(case: TrialCase, after: Buffers) -> None:
    """Raises ``Damage`` where an input was overwritten: a trace has no place for it, and no kernel may do it."""
    for argument in case.launch.args:
        if isinstance(argument, Buffer) and argument.role == "in":
            changed = np.count_nonzero(after[argument.name].view(np.uint8) != argument.data.view(np.uint8))
            if changed:
                raise Damage(f"{changed} bytes of input {argument.name} were overwritten")
