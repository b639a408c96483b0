"""Mutants on trial: every case of every kernel of a source, for each mutant that it comes to and that lives."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.spec.kernel import Kernel
from conformance.verdict.trials import TrialCase, generated, generated_parts, with_wave
from tests.selftest.given import changed, launches_of
from tests.selftest.port import Port, not_viable
from tests.selftest.schemata import Mutant, write_tree


@dataclass
class Result:
    """What became of the mutants of a trial, by number."""

    killed: dict[int, tuple[str, str, bool]] = field(default_factory=dict)
    """The killing case, what is wrong with it, and whether Candle never launches it."""
    not_viable: dict[int, str] = field(default_factory=dict)
    reached: dict[int, int] = field(default_factory=dict)
    """Cases that came to it, where it survived."""
    broken: list[str] = field(default_factory=list)
    """Cases in which the tree fails with no mutant chosen."""
    running: float = 0.0


def run_trial(
    source: Path,
    module: str,
    mutants: Mapping[int, Mutant],
    kernels: Sequence[Kernel],
    wave: int,
    caps: Mapping[int, int],
    salt: str = "",
    say: Callable[[str], None] = lambda _: None,
) -> Result:
    """Compile ``mutants`` into the source of ``module`` in the tree ``source``, and judge each by ``kernels``, with the
    data of ``salt``.

    One that as many cases as ``caps`` has for it have come to without failing is given up, for another trial.
    """
    result = Result()
    launchers = any(kernel.is_host_function for kernel in kernels)
    port = Port(wave)
    with tempfile.TemporaryDirectory(prefix="selftest-") as folder:
        try:
            if _compile(port, source, Path(folder), module, mutants, launchers, result, say):
                viable = {number: cap for number, cap in caps.items() if number not in result.not_viable}
                _judge(port, viable, kernels, salt, result, say)
        finally:
            port.close()
    return result


def _compile(
    port: Port,
    source: Path,
    folder: Path,
    module: str,
    mutants: Mapping[int, Mutant],
    launchers: bool,
    result: Result,
    say: Callable[[str], None],
) -> bool:
    """Compile without what does not compile."""
    for attempt in range(12):
        root = folder / f"{attempt}"
        left = {n: m for n, m in mutants.items() if n not in result.not_viable}
        write_tree(source, root, left, module)
        port.count = max(left, default=0)
        path = next(file for file in root.iterdir() if file.stem == module)
        errors = port.compile(path, root, launchers)
        if not errors:
            return True
        found = not_viable(errors, root, path, left)
        say(f"{module}: {len(found)} mutants do not compile: {next(iter(found.values()))}")
        result.not_viable |= found
    raise AssertionError(f"{module} does not compile: {errors[:3]}")


def _judge(
    port: Port,
    caps: Mapping[int, int],
    kernels: Sequence[Kernel],
    salt: str,
    result: Result,
    say: Callable[[str], None],
) -> None:
    """The cases of the verdict, then for those that live the others: what Candle never launches."""
    for robustness in (False, True):
        alive = {number: cap for number, cap in caps.items() if number not in result.killed}
        tried: dict[int, int] = {}
        for kernel in kernels:
            if not alive:
                break
            started = time.monotonic()
            cases = generated(kernel, generated_parts(kernel)[robustness], salt)
            for case in with_wave(cases, port.wave) if kernel.is_host_function else cases:
                _judge_case(port, kernel, case, alive, tried, robustness, result)
            say(f"{kernel.name}: {len(alive)} alive, {time.monotonic() - started:.1f} s")
        if not robustness:
            result.reached = {number: count for number, count in tried.items() if number not in result.killed}


def _judge_case(
    port: Port,
    kernel: Kernel,
    case: TrialCase,
    alive: dict[int, int],
    tried: dict[int, int],
    robustness: bool,
    result: Result,
) -> None:
    """One case for each mutant that is ``alive`` and that it comes to; takes those out that it kills."""
    port.choose(0)
    broken = port.judge_alone(kernel, case, 0)
    if broken is not None:
        result.broken += [] if robustness else [f"{case.id}: {broken.why}"]
        return
    for number in sorted(port.hits() & alive.keys()):
        tried[number] = tried.get(number, 0) + 1
        wrong = port.judge_alone(kernel, case, number)
        if wrong is not None:
            result.killed[number] = (case.id, wrong.why, robustness)
        if wrong is not None or tried[number] >= alive[number]:
            del alive[number]


def run_launches(source: Path, module: str, kernels: Sequence[Kernel], share: float, wave: int = 64) -> dict[str, Any]:
    """Wrong launches of the unchanged sources: by mutant the killing case, or how many cases it survived."""
    found: dict[str, Any] = {}
    port = Port(wave)
    with tempfile.TemporaryDirectory(prefix="selftest-") as folder:
        try:
            _compile(
                port, source, Path(folder), module, {}, any(one.is_host_function for one in kernels), Result(), print
            )
            for kernel in kernels:
                cases = generated(kernel, generated_parts(kernel).judged, "")
                for case in with_wave(cases, wave) if kernel.is_host_function else cases:
                    for given in launches_of(kernel, case):
                        if random.Random(given.id).random() < share and not isinstance(found.get(given.id), str):
                            launch = changed(given, case.launch)
                            wrong = port.judge(kernel, case, launch)
                            found[given.id] = case.id if wrong is not None else found.get(given.id, 0) + 1
                            if wrong is not None:
                                port.renew()
        finally:
            port.close()
    return found
