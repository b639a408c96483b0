"""The steps that every run has: compile what its kernels need, ask for answers, and say how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from conformance.engine.library import first_to_compile
from conformance.engine.messages import Compile, Compiled
from conformance.engine.modes import Tree
from conformance.engine.pool import Answer, Pool, Request
from conformance.runtimes.hip.errors import first_error
from conformance.spec.kernel import Kernel

ProgressCallback = Callable[[str, int, int], None]
"""Called with what is going on (``compiling``, ``running``), and how many of how many are done."""


def no_progress(what: str, done: int, total: int) -> None:
    """The ``ProgressCallback`` of whom nobody watches."""


@dataclass
class Compilation:
    """What came of compiling a tree's sources, by label.

    ``broken`` holds the first error of those that do not compile or load, ``unavailable`` why nothing is known of
    others, ``logs`` whole errors.
    """

    broken: dict[str, str] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    logs: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def answers(
    pool: Pool, requests: Sequence[Request], what: str, on_progress: ProgressCallback, done: int = 0
) -> Iterator[Answer]:
    """What ``pool`` answers to ``requests``; ``done`` more have their answers already. Raises ``EngineError``."""
    total = done + len(requests)
    on_progress(what, done, total)
    for count, answer in enumerate(pool.answers(requests), done + 1):
        yield answer
        on_progress(what, count, total)


def to_compile(trees: Sequence[Tree], kernels: Sequence[Kernel]) -> list[Compile]:
    """Requests for what is compiled before anything of ``kernels`` runs."""
    modules = {kernel.module for kernel in kernels if not kernel.is_launcher}
    return [
        Compile(source.label, number)
        for number, tree in enumerate(trees)
        for source in first_to_compile(tree.sources, modules)
    ]


def compile_trees(
    pool: Pool, trees: Sequence[Tree], requests: Sequence[Compile], on_progress: ProgressCallback
) -> list[Compilation]:
    """Compile into the cache, and load, what ``requests`` name; what came of it per tree. Raises ``EngineError``."""
    found = [Compilation() for _ in trees]
    for answer in answers(pool, requests, "compiling", on_progress):
        assert isinstance(answer, Compiled)
        tree = found[answer.tree]
        if answer.error is not None:
            tree.broken[answer.source] = first_error(trees[answer.tree].source(answer.source).labelled(answer.error))
            tree.logs[answer.source] = answer.error
        if answer.infrastructure is not None:
            tree.unavailable[answer.source] = answer.infrastructure
        tree.warnings += answer.warnings
    return found
