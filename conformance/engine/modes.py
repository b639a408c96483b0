"""What a run does with kernels: judge them over generated or recorded cases, judge the reference, or record.

A mode goes to every process of a run as plain data. Those whose kernels are launched case by case say where the cases
come from and what happens with the answers: judged, or kept (``RecordingHandler``). The loop over them is in
``conformance.verdict.loop``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from conformance.cases.case import Case
from conformance.cases.launch import Buffer
from conformance.port.declared.declared import NOTHING, Declared
from conformance.port.options import NO_OPTIONS, BuildOptions
from conformance.port.sources import KernelSource, find_sources
from conformance.replay.recorder import Recorder
from conformance.spec.kernel import Kernel
from conformance.verdict.compare import Mismatch
from conformance.verdict.judge import Judging
from conformance.verdict.loop import AnswerHandler, Buffers, Counts, Damage
from conformance.verdict.trials import Parts, Subject, TrialCase, generated, generated_parts, recorded, recorded_parts


class RecordingHandler:
    """Writes the answers of ``kernel`` into ``folder``; none is judged.

    The outcome is ``pass`` when every case has an answer. A launch that faults, does not end, or writes where it must
    not (outside a buffer, into an input) has none: it counts as failed, and the other cases are kept.
    """

    def __init__(self, kernel: Kernel, folder: Path) -> None:
        self._kernel, self._folder = kernel.name, folder
        self._recorder = Recorder(kernel.entry)

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


@dataclass(frozen=True)
class Tree:
    """A folder or file of kernels, what its sources are compiled with, and what the port declares of itself.

    ``sources`` are the kernel files under ``path`` as ``at`` has found them: every process of a run goes by this list.
    """

    path: Path
    options: BuildOptions = NO_OPTIONS
    declared: Declared = NOTHING
    sources: tuple[KernelSource, ...] = ()

    @classmethod
    def at(cls, path: Path, options: BuildOptions = NO_OPTIONS, declared: Declared = NOTHING) -> Tree:
        """The tree at ``path`` with the kernel files that are there now; raises ``SourceError``."""
        return cls(path, options, declared, tuple(find_sources(path)))

    def source(self, label: str) -> KernelSource:
        """The source that is called ``label``; raises ``KeyError``."""
        for source in self.sources:
            if source.label == label:
                return source
        raise KeyError(label)


class Mode(ABC):
    """What is done with the kernels of a run."""

    subject: ClassVar[Subject] = "kernels"

    process: ClassVar[str] = "conformance.engine.judge_process"
    """The module that a member of the run's pool is started as."""

    runs_kernels: ClassVar[bool] = False
    """Whether kernels run in the members themselves, and not in executors."""

    @property
    @abstractmethod
    def trees(self) -> tuple[Tree, ...]:
        """The trees that are compiled, the one under trial first; none where no kernel runs."""

    @property
    def traces(self) -> Path | None:
        """The folder of the recorded cases, where cases are not generated."""
        return None


class CaseMode(Mode):
    """A mode in which a kernel is launched case by case, in one request."""

    launches_faults: ClassVar[bool] = True
    """Whether cases that upstream stops with an assert are launched, where the device survives them."""

    launches_spread: ClassVar[bool] = True
    """Whether cases whose buffers have gaps are launched, where the device has room for them."""

    always_all: ClassVar[bool] = True
    """Whether cases without a part in the verdict are run unasked; else with ``--all-cases``."""

    def parts(self, kernel: Kernel) -> Parts | None:
        """All cases of ``kernel`` where some have no part in the verdict."""
        return None

    @abstractmethod
    def cases(self, kernel: Kernel, cases: Iterable[Case] | None, salt: str) -> Iterator[TrialCase]:
        """Trials of ``cases`` of ``kernel``, or of all; raises ``ValueError`` for bad ones."""

    def handler(self, kernel: Kernel) -> AnswerHandler:
        """What takes the answers of ``kernel``."""
        return Judging(kernel)


@dataclass(frozen=True)
class PortMode(CaseMode):
    """A mode in which the kernels of a port are launched."""

    tree: Tree

    @property
    def trees(self) -> tuple[Tree, ...]:
        return (self.tree,)


@dataclass(frozen=True)
class JudgeGenerated(PortMode):
    """Judge a port by cases that are made from the specs: ``run``, and the pytest items."""

    always_all: ClassVar[bool] = False

    def parts(self, kernel: Kernel) -> Parts:
        return generated_parts(kernel, self.tree.declared.changes)

    def cases(self, kernel: Kernel, cases: Iterable[Case] | None, salt: str) -> Iterator[TrialCase]:
        return generated(kernel, cases, salt)


@dataclass(frozen=True)
class RecordedMode(CaseMode):
    """A mode whose cases are the recorded launches in ``folder``."""

    folder: Path

    @property
    def traces(self) -> Path:
        return self.folder

    def cases(self, kernel: Kernel, cases: Iterable[Case] | None, salt: str) -> Iterator[TrialCase]:
        return recorded(kernel, cases, self.folder, self.subject)


@dataclass(frozen=True)
class JudgeRecorded(RecordedMode, PortMode):
    """Judge a port by recorded launches: ``replay``."""

    def parts(self, kernel: Kernel) -> Parts:
        return recorded_parts(kernel, self.folder)


@dataclass(frozen=True)
class RecordAnswers(PortMode):
    """Keep in ``folder`` what a port answers to generated cases, judged by nobody: ``record``."""

    launches_faults: ClassVar[bool] = False  # what is recorded has an answer
    launches_spread: ClassVar[bool] = False  # and its arguments are what the kernel was given

    folder: Path

    def cases(self, kernel: Kernel, cases: Iterable[Case] | None, salt: str) -> Iterator[TrialCase]:
        return generated(kernel, cases, salt)

    def handler(self, kernel: Kernel) -> AnswerHandler:
        return RecordingHandler(kernel, self.folder)


@dataclass(frozen=True)
class JudgeReference(RecordedMode):
    """Judge the reference by recorded launches, none of which is launched again: ``replay --subject reference``."""

    subject: ClassVar[Subject] = "reference"

    @property
    def trees(self) -> tuple[Tree, ...]:
        return ()


MODES: tuple[type[Mode], ...] = (JudgeGenerated, JudgeRecorded, RecordAnswers, JudgeReference)
