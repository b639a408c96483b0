"""What a run does with kernels: judge them over cases that are generated, and the base of every other mode.

A mode goes to every process of a run as plain data. Those whose kernels are launched case by case say where the cases
come from and what happens with the answers. The loop over them is in ``conformance.verdict.loop``. Other modes are in
files of their own: ``conformance.engine.recordings``, ``conformance.engine.timing.requests``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from conformance.cases import launch_for
from conformance.cases.case import Case
from conformance.cases.launch import Launch
from conformance.port.declared.declared import NOTHING, Declared
from conformance.port.options import NO_OPTIONS, BuildOptions
from conformance.port.sources import KernelSource, find_sources
from conformance.spec.kernel import Kernel
from conformance.verdict.judge import Judging
from conformance.verdict.loop import AnswerHandler
from conformance.verdict.trials import Parts, Subject, TrialCase, generated, generated_parts


@dataclass(frozen=True)
class Tree:
    """A file or folder of kernels, with the options that its sources are compiled with and what the port declares.

    ``sources`` are the kernel files under ``path`` that ``at`` found. Every process of a run uses this list.
    """

    path: Path
    options: BuildOptions = NO_OPTIONS
    declared: Declared = NOTHING
    sources: tuple[KernelSource, ...] = ()

    @classmethod
    def at(cls, path: Path, options: BuildOptions = NO_OPTIONS, declared: Declared = NOTHING) -> Tree:
        """The tree at ``path`` with the kernel files that are there now. Raises ``SourceError``."""
        return cls(path, options, declared, tuple(find_sources(path)))

    def source(self, label: str) -> KernelSource:
        """The source with this label. Raises ``KeyError``."""
        for source in self.sources:
            if source.label == label:
                return source
        raise KeyError(label)


class Mode(ABC):
    """What a run does with kernels."""

    subject: ClassVar[Subject] = "kernels"

    process: ClassVar[str] = "conformance.engine.judge_process"
    """The module that a member of the run's pool is started as."""

    runs_kernels: ClassVar[bool] = False
    """Whether kernels run in the members themselves, and not in executors."""

    @property
    @abstractmethod
    def trees(self) -> tuple[Tree, ...]:
        """The trees that are compiled, first the one that is judged; none where no kernel runs."""

    @property
    def data(self) -> str:
        """A digest of the cases whose ids do not make their data; empty where there are none."""
        return ""

    @property
    def traces(self) -> Path | None:
        """The folder of the recorded launches; ``None`` where cases are generated."""
        return None


class CaseMode(Mode):
    """A mode that launches a kernel case by case; a kernel is one request."""

    launches_faults: ClassVar[bool] = True
    """Whether cases that upstream stops with an assert are launched, where the device survives them."""

    launches_spread: ClassVar[bool] = True
    """Whether cases whose buffers have gaps are launched, where the device has room for them."""

    always_all: ClassVar[bool] = True
    """Whether cases without a part in the verdict are run unasked; else with ``--all-cases``."""

    def parts(self, kernel: Kernel) -> Parts | None:
        """The cases of ``kernel``, divided into those that count for the verdict and others; ``None`` where all
        count."""
        return None

    @abstractmethod
    def cases(self, kernel: Kernel, cases: Iterable[Case] | None, salt: str) -> Iterator[TrialCase]:
        """The trials of ``cases`` of ``kernel``; of all its cases for ``None``. ``salt`` is that of the data.

        Raises ``ValueError`` for a case that cannot be made.
        """

    def pinned(self, cases: Iterable[Case]) -> int:
        """How many of ``cases`` are pinned launches of programs."""
        return 0

    def launches(self, kernel: Kernel, cases: Iterable[Case], salt: str) -> Iterator[tuple[Case, Launch]]:
        """``cases`` of ``kernel`` with their launches, without expected values."""
        return ((case, launch_for(kernel, case, salt)) for case in cases)

    def handler(self, kernel: Kernel) -> AnswerHandler:
        """The object that takes the answers of ``kernel``."""
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
