"""Answers of our own port to generated cases: what recorded answers leave alive is judged by these next."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

from conformance.spec.kernel import Kernel
from conformance.verdict.compare import Mismatch
from conformance.verdict.judge import Judging
from conformance.verdict.loop import Buffers
from conformance.verdict.trials import TrialCase, generated, generated_parts, with_wave
from tests.selftest.catalogue import Source, sources
from tests.selftest.port import Port
from tests.selftest.recordings import Recorded, observed, spread

WAVE = 64
MOST = 5
"""Generated cases of each kernel, chosen at random."""


class _Keeping(Judging):
    """Keeps the last answer that it was given."""

    kept: Buffers | None = None

    def take(self, case: TrialCase, buffers: Buffers, again: bool = False) -> Mismatch | None:
        self.kept = {name: content.copy() for name, content in buffers.items()}
        return super().take(case, buffers, again)


def ported_cases(modules: Sequence[str]) -> list[Recorded]:
    """Some generated cases of each kernel of ``modules`` that our port answers right, and its answers."""
    found = []
    for source in sources():
        if source.stem in modules:
            print(f"our port of {source.stem}", file=sys.stderr, flush=True)
            found += [one for one in _answered(source) if observed(one) is None]
    return spread(found)


def _answered(source: Source) -> Iterator[Recorded]:
    port = Port(WAVE, orders=("forward",))
    try:
        launchers = any(kernel.is_host_function for kernel in source.kernels)
        path = next(file for file in source.root.iterdir() if file.stem == source.stem and file.suffix == ".hip")
        errors = port.compile(path, source.root, launchers)
        assert not errors, errors[:1]
        for kernel in source.kernels:
            parts = generated_parts(kernel).judged
            chosen = random.Random(kernel.name).sample(parts, min(len(parts), MOST))
            cases = generated(kernel, chosen, "")
            for case in with_wave(cases, WAVE) if kernel.is_host_function else cases:
                answer = None if case.must_fault else _answer(port, kernel, case)
                if answer is not None:
                    yield Recorded(kernel, case.case, case.launch, answer, of_candle=False)
    finally:
        port.close()


def _answer(port: Port, kernel: Kernel, case: TrialCase) -> dict[str, Any] | None:
    """What the port writes; ``None`` where that is wrong."""
    keeping = _Keeping(kernel)
    with mock.patch("tests.selftest.port.Judging", return_value=keeping):
        failure = port.judge(kernel, case)
    if failure is not None or keeping.kept is None:
        return None
    return {name: content for name, content in keeping.kept.items() if name in case.expected}
