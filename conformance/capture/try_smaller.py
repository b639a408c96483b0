"""The smallest part of a recorded launch in which a port is still wrong, found by launching the port's own kernel."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from conformance.capture.shrink import NotShrinkable, Smaller, items_of, smaller
from conformance.cases.case import Case
from conformance.cases.launch import Buffer, Launch
from conformance.engine.modes import Tree
from conformance.engine.recordings import JudgeWithPinned, digest_of_traces
from conformance.engine.run import run
from conformance.port.config import Config
from conformance.replay.recorder import PART_SUFFIX, Recorder, pack_parts
from conformance.replay.traces import Trace
from conformance.session.setup import setup_from
from conformance.settings import Settings
from conformance.spec.kernel import Kernel
from conformance.text import counted
from conformance.verdict.compare import judge_argument
from conformance.verdict.trials import TrialCase


@dataclass(frozen=True)
class PortOnTrial:
    """A port whose kernels are launched, as its file and the settings say."""

    tree: Tree
    settings: Settings
    config: Config | None


def wrong_element(kernel: Kernel, trial: TrialCase) -> tuple[str, int] | None:
    """The buffer and the index of the worst element that the program answered wrong; ``None`` where all are right."""
    for argument in trial.launch.args:
        answer = (trial.answer or {}).get(argument.name)
        expected = trial.expected.get(argument.name)
        if isinstance(argument, Buffer) and answer is not None and expected is not None:
            mismatch = judge_argument(argument, answer, expected, kernel.tolerance.ulp)
            if mismatch is not None:
                return argument.name, mismatch.index
    return None


def smallest_wrong(kernel: Kernel, trace: Trace, wrong: tuple[str, int], port: PortOnTrial) -> tuple[Smaller, str]:
    """The smallest part of ``trace`` in which ``port`` is wrong, and what was tried, in words.

    ``wrong`` is the element that the program answered wrong. Raises ``NotShrinkable`` where there is no smaller part,
    or none in which the port is wrong, and ``UserError`` where the port cannot be judged.
    """
    parts = smaller(kernel, trace, *wrong)
    tried = [(part.launch, part.answer) for part in parts]
    failing = _failing(kernel, [*tried, (trace.launch, trace.answer)], port)
    if len(parts) not in failing:
        raise NotShrinkable("the port is right in it here, so that no smaller one can be tried")
    found = next((part for number, part in enumerate(parts) if number in failing), None)
    if found is None:
        raise NotShrinkable(f"the port is right in the {counted(len(parts), 'smaller one')} that were tried")
    items = items_of(kernel, trace.launch).count
    return found, f"{found.count} of its {items:,} items, from item {found.first} on: the port is wrong in it too"


def write_launch(
    folder: Path,
    kernel: Kernel,
    launches: Sequence[tuple[str, Launch, Mapping[str, NDArray[Any]]]],
    recording: Mapping[str, Any],
) -> None:
    """Write the archive of ``launches`` of ``kernel``, each a label, a launch and its answer, into ``folder``."""
    recorder = Recorder()
    for label, launch, answer in launches:
        recorder.add(Case(kernel.name, (("trace", label),)), launch, answer, label=label)
    recorder.write(folder, kernel.name)
    part = folder / f"{kernel.name}{PART_SUFFIX}"
    pack_parts([part], folder, kernel.module, recording)
    part.unlink(missing_ok=True)


def _failing(
    kernel: Kernel, launches: Sequence[tuple[Launch, Mapping[str, NDArray[Any]]]], port: PortOnTrial
) -> set[int]:
    """The numbers of those of ``launches`` in which the port's kernel is wrong; raises ``NotShrinkable`` where it has
    no verdict."""
    with tempfile.TemporaryDirectory(prefix="candle-parity-") as folder:
        labelled = [(str(number), launch, answer) for number, (launch, answer) in enumerate(launches)]
        write_launch(Path(folder), kernel, labelled, {"program": "parts of a launch"})
        setup = setup_from(port.settings, ["candle-parity", "replay"], port.tree, port.config)
        mode = JudgeWithPinned(port.tree, Path(folder), digest_of_traces(Path(folder)))
        cases = tuple(f"{kernel.name}(trace={label})" for label, _, _ in labelled)
        outcome = run(setup, mode, [kernel], {kernel.name: cases}).outcomes[kernel.name]
    if outcome.status not in ("pass", "fail"):
        raise NotShrinkable(f"the port's kernel has no verdict: {outcome.message or outcome.status}")
    return {int(Case.parse(case).get("trace")) for case in outcome.failed_cases}
