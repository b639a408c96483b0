"""Cases to an executor and their buffers back: the next case is on its way while one is judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from numpy.typing import NDArray

from conformance.engine.remote import Executor, Function, Submitted
from conformance.verdict.judge import Damage
from conformance.verdict.trials import TrialCase


class Launching:
    """Runs the cases of one kernel: iterate over ``ahead(cases)`` and call ``answer`` for each case and order.

    ``must_fault`` says whether cases that upstream stops are launched.
    """

    def __init__(self, executor: Executor, function: Function, orders: tuple[str, ...], must_fault: bool) -> None:
        self._executor = executor
        self._function = function
        self._orders = orders
        self._must_fault = must_fault
        self._submitted: dict[int, Submitted] = {}

    def ahead(self, cases: Iterable[TrialCase]) -> Iterator[TrialCase]:
        """``cases``, each launched before the one before it is handed out. Raises ``Lost``."""
        waiting: TrialCase | None = None
        for case in cases:
            # A launch that is right to fault may cost a device its context; a flawed case is judged as it is.
            if not case.flaw and (self._must_fault or not case.must_fault):
                self._submitted[id(case)] = self._executor.submit(
                    self._function, case.launch, self._orders, bool(case.must_fault)
                )
            if waiting is not None:
                yield waiting
            waiting = case
        if waiting is not None:
            yield waiting

    def answer(self, case: TrialCase, order: str) -> dict[str, NDArray[Any]]:
        """Every buffer's whole content after ``case`` in ``order``; views that hold until the case after next.

        Raises ``Damage``, ``HipError`` and ``Lost``.
        """
        submitted = self._submitted[id(case)]
        if order == self._orders[-1]:
            del self._submitted[id(case)]
        buffers, damaged = self._executor.result(submitted, order)
        if damaged:
            raise Damage("; ".join(f"{name}: {what}" for name, what in damaged.items()))
        return buffers

    def copied(self, case: TrialCase, order: str) -> dict[str, NDArray[Any]]:
        """The same as arrays of their own."""
        return {name: content.copy() for name, content in self.answer(case, order).items()}
