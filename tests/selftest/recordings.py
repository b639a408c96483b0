"""Recorded answers, with what the unmutated reference says of each, and the lines of it that run."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from conformance.cases.case import Case
from conformance.cases.launch import Launch
from conformance.files import REFERENCE
from conformance.replay.traces import Traces
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from conformance.verdict.judge import INDEX_DIFFERS, TIE_ORDER_DIFFERS, Judging, recorded_answer
from conformance.verdict.loop import Buffers, Counts
from conformance.verdict.trials import TrialCase
from tests.selftest.altered import Altered, Wanted, altered, wanted

Line = tuple[str, int]


@dataclass(eq=False)
class Recorded:
    """A recorded answer, with what the unmutated reference says of it once elements are changed.

    ``lines`` are those of the reference that run for it, ``seconds`` the time that takes. ``of_candle`` says that
    Candle's own kernel gave it, in Candle's own order."""

    kernel: Kernel
    case: Case
    launch: Launch
    answer: Buffers
    of_candle: bool = True
    altered: list[Altered] = field(default_factory=list)
    lines: frozenset[Line] = frozenset()
    seconds: float = 0.0


def recorded_cases(modules: Sequence[str] = ()) -> list[Recorded]:
    """All recorded cases, or those of some modules, and what the unmutated reference says of them."""
    specs = load_specs()
    every = {**specs.kernels, **specs.launchers, **specs.libraries}
    traces = Traces(REFERENCE / "traces")
    found = []
    for name in (*traces.kernels, *traces.launchers):
        kernel = every[name]
        if modules and kernel.module not in modules:
            continue
        for trace in traces.of(kernel):
            one = Recorded(kernel, trace.case, trace.launch, trace.answer)
            wrong = observed(one)
            assert wrong is None, f"{trace.case.id}: {wrong}"
            found.append(one)
    return spread(found)


def spread(every: Sequence[Recorded]) -> list[Recorded]:
    """The cheapest case of each kernel, cheap ones first, then another of each, and so on."""
    groups: Counter[str] = Counter()
    turns = {}
    for one in sorted(every, key=lambda one: one.seconds):
        turns[one] = groups[one.kernel.name]
        groups[one.kernel.name] += 1
    return sorted(every, key=lambda one: (turns[one], one.seconds))


def observed(one: Recorded) -> str | None:
    """Fill in what the unmutated reference says, and the lines that run; what is wrong with the recorded answer."""
    for module in [module for name, module in sys.modules.items() if name.startswith("reference.")]:
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()  # what is taken from a cache would not run
    started = time.process_time()
    with tracing() as lines:
        expected = wanted(one.kernel, one.launch)
        wrong = wrong_with(one, expected)
        one.altered = altered(one.kernel, one.launch, one.answer, expected)
    one.seconds, one.lines = time.process_time() - started, frozenset(lines)
    return wrong


@contextmanager
def tracing() -> Iterator[set[Line]]:
    """Collects the lines of the reference that run."""
    lines: set[Line] = set()
    names: dict[CodeType, str] = {}
    folder = f"{REFERENCE}{os.sep}"

    def of_line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            lines.add((names[frame.f_code], frame.f_lineno))
        return of_line

    def of_call(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if code.co_filename.startswith(folder):
            names.setdefault(code, Path(code.co_filename).relative_to(REFERENCE).as_posix())
            return of_line
        return None

    before = sys.gettrace()
    sys.settrace(of_call)
    try:
        yield lines
    finally:
        sys.settrace(before)


def wrong_with(one: Recorded, expected: Wanted) -> str | None:
    """What the reference has against an answer, a recorded one as ``replay --subject reference`` judges it.

    Candle's own answer is in Candle's own order, of ties as well: the judge lets others pass, and takes note of it."""
    order = {name: replace(row, exact=None) for name, row in expected.items()} if one.of_candle else expected
    trial = TrialCase(one.case, one.launch, order, one.answer)
    judging = Judging(one.kernel)
    judging.begin(trial)
    wrong = judging.take(trial, recorded_answer(trial, ""))
    if wrong is not None or not one.of_candle:
        return None if wrong is None else wrong.why
    note = judging.finish(Counts(cases=1))["message"]
    return note if note in (TIE_ORDER_DIFFERS, INDEX_DIFFERS) else None
