"""Looking for what should not happen until the time is up: each find is shrunk, and its kernel left alone then."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from conformance.spec.kernel import Kernel
from tests.fuzz.cases import cases, is_judged
from tests.fuzz.judges import Judges

EXAMPLES = 100
"""Of a module, or of a parser, before it is the next one's turn."""


class Find(AssertionError):
    """Something that should not happen: of what, the smallest input for it, and what happened."""

    def __init__(self, of: str, given: str, why: str) -> None:
        super().__init__(f"{given}\n    {why}")
        self.of, self.given, self.why = of, given, why


@dataclass
class Tally:
    """How many inputs were tried, by what they are of."""

    tried: Counter[str] = field(default_factory=Counter)
    finds: list[Find] = field(default_factory=list)


Test = Callable[[st.DataObject], None]


def smallest(test: Test, number: int, examples: int, derandomize: bool = False) -> None:
    """Raises the smallest ``Find`` of ``test`` in ``examples`` inputs."""
    chosen = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=derandomize,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        print_blob=False,
    )
    made = chosen(given(st.data())(test))
    (made if derandomize else seed(number)(made))()


def of_kernels(judges: Judges, kernels: Sequence[Kernel], tally: Tally, until: float = float("inf")) -> Test:
    """The test that a case of one of ``kernels`` passes; from the time ``until`` on it tries nothing new."""
    verdicts: dict[str, str | None] = {}
    chosen = st.sampled_from(sorted(kernels, key=lambda kernel: kernel.name)).flatmap(
        lambda kernel: st.tuples(st.just(kernel), cases(kernel))
    )

    def test(data: st.DataObject) -> None:
        kernel, case = data.draw(chosen)
        if case.id not in verdicts and time.monotonic() < until:
            judged = is_judged(kernel, case)
            tally.tried[kernel.module] += judged
            verdicts[case.id] = judges.wrong(kernel, case.id) if judged else None
        why = verdicts.get(case.id)
        if why is not None:
            raise Find(kernel.name, case.id, why)

    return test


def hunt(
    rounds: Iterator[tuple[str, Callable[[set[str]], Test | None]]],
    seed_: int,
    until: float,
    tally: Tally,
    say: Callable[[str], None],
) -> None:
    """Try each of ``rounds`` in turn, with what was found of it left out, until the time is up."""
    known: set[str] = set()
    for number, (name, make) in enumerate(rounds):
        if time.monotonic() > until:
            return
        test = make(known)
        if test is None:
            continue
        try:
            smallest(test, seed_ + number, EXAMPLES)
        except Find as find:
            known.add(find.of)
            tally.finds.append(find)
            say(f"{name}: {find}")
