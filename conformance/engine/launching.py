"""Cases to an executor and their buffers back: the next case is on its way while one is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from conformance.cases.launch import Launch
from conformance.engine.leaks import described
from conformance.engine.remote_executor import Executor, Function, Submitted
from conformance.runtimes.hip.calling import Misuse
from conformance.runtimes.hip.errors import HipError
from conformance.verdict.loop import Answers, Buffers, Damage
from conformance.verdict.trials import TrialCase

NOTHING: Mapping[str, str] = MappingProxyType({})


class Launching:
    """Runs the cases of one kernel: iterate over ``ahead(cases)`` and take each one's ``answers``.

    ``survives_faults`` and ``must_fault`` are those of ``Answers``; ``with_places`` puts lines of the source into what
    the runtime says of a fault, ``unwritten`` is that of the runtime's kind.
    """

    def __init__(
        self,
        executor: Executor,
        function: Function,
        orders: tuple[str, ...],
        survives_faults: bool,
        must_fault: bool,
        with_places: Callable[[str], str] = str,
        unwritten: Mapping[str, str] = NOTHING,
    ) -> None:
        again = self._again if unwritten else None
        instead = self._instead if survives_faults else None
        self.answers = Answers(self._answer, orders, survives_faults, must_fault, again, instead)
        self._unwritten = unwritten
        self._executor = executor
        self._function = function
        self._with_places = with_places
        self._submitted: dict[int, Submitted] = {}
        self.leak: str | None = None
        """What every call of a launcher leaves behind, in words."""

    def ahead(self, cases: Iterable[TrialCase]) -> Iterator[TrialCase]:
        """``cases``, each launched before the one before it is handed out. Raises ``Lost``."""
        waiting: TrialCase | None = None
        for case in cases:
            # A launch that is right to fault may cost a device its context; a flawed case is judged as it is.
            if not case.flaw and (self.answers.must_fault or not case.must_fault):
                self._submitted[id(case)] = self._executor.submit(
                    self._function, case.launch, self.answers.orders, bool(case.must_fault)
                )
            if waiting is not None:
                yield waiting
            waiting = case
        if waiting is not None:
            yield waiting

    def _answer(self, case: TrialCase, order: str) -> Buffers:
        """Every buffer's whole content after ``case`` in ``order``; views that hold until the case after next.

        Raises ``Damage``, ``HipError`` and ``Lost``.
        """
        submitted = self._judged = self._submitted[id(case)]
        if order == self.answers.orders[-1]:
            del self._submitted[id(case)]
        try:
            buffers, damaged = self._executor.result(submitted, order)
            if submitted.leak is not None and self.leak is None:
                calls, *left = submitted.leak
                self.leak = described(tuple(left), calls, case.id)
        except HipError as error:
            raise error.with_places(self._with_places) from None
        except Misuse as misuse:
            raise Damage(str(misuse)) from None
        if damaged:
            raise Damage("; ".join(f"{name}: {what}" for name, what in damaged.items()))
        return buffers

    def _again(self, case: TrialCase, order: str) -> Iterator[tuple[str, Buffers | None]]:
        """What ``case``, whose answer was asked for last, leaves when it is launched again: as it was, then with other
        bytes in what nothing has written, by name. ``None`` is a fault. Raises ``Lost``."""
        orders = {"": order, **{words: f"{order}+{name}" for name, words in self._unwritten.items()}}
        launched = tuple(orders.values())
        submitted = self._executor.submit(self._function, case.launch, launched, must_fault=True, over=self._judged)
        for words, each in orders.items():
            try:
                yield words, self._executor.result(submitted, each)[0]
            except HipError:
                yield words, None

    def _instead(self, launch: Launch, order: str) -> Buffers | None:
        """What ``launch`` leaves in place of the case whose answer was asked for last, ``None`` for a fault or damage.
        Raises ``Lost``."""
        submitted = self._executor.submit(self._function, launch, (order,), must_fault=True, over=self._judged)
        try:
            buffers, damaged = self._executor.result(submitted, order)
        except (HipError, Misuse):
            return None
        return None if damaged else buffers
