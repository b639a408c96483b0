"""``--machine-code``: single instructions of our kernels' code objects changed, judged on the isa runtime."""

from __future__ import annotations

import argparse
import json
import random
import re
import struct
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

from conformance.port.line_tables import LineTable
from conformance.runtimes.cpu.build import build
from conformance.runtimes.isa.build import isa_plan
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from conformance.verdict.trials import TrialCase, generated, generated_parts
from tests.isa_runtime.machine import Machine
from tests.selftest.machine_operators import Instruction, Mutant, mutants_of
from tests.selftest.machine_port import IsaPort, compiled, instructions_of, is_instruction, kernel_code, lines
from tests.sites.__main__ import read_sites

HERE = Path(__file__).parent
TARGETS = ("gfx942", "gfx1100")
COSTLY = 2.0
"""Seconds of a case that is left out."""
SECONDS = 15.0
"""For the cases of one mutant, of which the cheapest are tried first."""
WEIGHTS = {"wait": 3, "wait states": 2, "barrier": 3, "mask": 3, "lane": 3, "offset": 2, "branch": 1.5, "width": 1.5}
"""Of groups of operators in the sample; 1 otherwise."""


@dataclass
class Subject:
    """A kernel as machine code: its instructions, its cases, the cheapest first, and what each executes."""

    target: str
    kernel: Kernel
    code: bytes
    distance: int
    instructions: list[Instruction] = field(default_factory=list)
    cases: list[tuple[float, TrialCase, frozenset[int]]] = field(default_factory=list)

    def mutants(self) -> list[Mutant]:
        """Those of instructions that a case executes."""
        executed = set[int]().union(*(reached for _, _, reached in self.cases))
        names = [one.name for one in self.instructions]
        return [
            mutant if mutant.group != "wait" or "s_barrier" not in names[n : n + 4] else _before_barrier(mutant)
            for n, one in enumerate(self.instructions)
            if one.at in executed
            for mutant in mutants_of(self.target, self.kernel.name, one)
        ]

    def with_words(self, mutant: Mutant) -> bytes:
        """The code object of a mutant."""
        code, at = bytearray(self.code), mutant.instruction.at - self.distance
        struct.pack_into(f"<{len(mutant.words)}I", code, at, *mutant.words)
        return bytes(code)


def _before_barrier(mutant: Mutant) -> Mutant:
    """A wait that is for others' sake too."""
    return replace(mutant, change=f"{mutant.change}, before s_barrier")


@lru_cache(maxsize=4)
def subject_of(machine: Machine, target: str, name: str) -> Subject:
    """A kernel with the cases of its verdict that are not costly, each launched once; raises ``AssertionError`` where
    one does not pass."""
    kernel = load_specs().kernels[name]
    code, place, distance = kernel_code(compiled(kernel.module, target), name)
    found = Subject(target, kernel, code, distance)
    found.instructions = instructions_of(machine, target, code[place], place.start + distance)
    if any(one.name.startswith(("s_swappc", "s_setpc", "s_call")) for one in found.instructions):
        found.code = code = compiled(kernel.module, target)  # it calls functions, which are elsewhere
    with tempfile.TemporaryDirectory(prefix="selftest-") as folder:
        port = IsaPort(target, Path(folder))
        try:
            for case in generated(kernel, generated_parts(kernel).judged, ""):
                for file in Path(folder).iterdir():
                    file.unlink()
                port.renew()  # what an executor has seen adds up
                assert port.load(code, name) is None
                began = time.monotonic()
                answer, why = port.judge(kernel, case)
                seconds = time.monotonic() - began
                reached = frozenset(site.offset for site in read_sites(Path(folder), name) if site.reached)
                if seconds < COSTLY and reached and answer != "not run":
                    assert answer == "pass", f"{target} {case.id}: {why}"
                    found.cases.append((seconds, case, reached))
        finally:
            port.close()
    found.cases.sort(key=lambda row: row[0])
    return found


@dataclass(frozen=True)
class Fate:
    """What became of a mutant: that of an answer, ``survived``, or a kind of machine_code.yaml; by how many cases."""

    kind: str
    why: str
    cases: int
    seconds: float


def tried(port: IsaPort, subject: Subject, mutant: Mutant) -> Fate:
    """The cases that come to a mutant, up to the first that fails or until its time is over."""
    began, count = time.monotonic(), 0
    wrong = port.load(subject.with_words(mutant), subject.kernel.name)
    for _, case, reached in subject.cases:
        if wrong is not None or time.monotonic() - began > SECONDS:
            break
        if mutant.instruction.at in reached:
            count += 1
            answer = port.judge(subject.kernel, case)
            wrong = None if answer[0] == "pass" else (answer[0], f"{case.id}: {answer[1]}")
    return Fate(*(wrong or ("survived", "")), count, time.monotonic() - began)


@dataclass(frozen=True)
class Known:
    """What was decided by hand of mutants of kernels and functions with a change, by regular expressions."""

    kind: str
    kernel: str
    function: str
    change: str
    why: str

    def holds(self, mutant: Mutant, functions: Sequence[str]) -> bool:
        return (
            re.fullmatch(self.kernel, f"{mutant.target} {mutant.kernel}") is not None
            and any(re.fullmatch(self.function, one) for one in functions or ("",))
            and re.fullmatch(self.change, f"{mutant.group}: {mutant.change}") is not None
        )


def kernels() -> list[str]:
    """Those that are mutated."""
    modules = yaml.safe_load((HERE / "machine_code.yaml").read_text())["kernels"].values()
    return [name for names in modules for name in names.split()]


@cache
def known() -> tuple[Known, ...]:
    """The rows of machine_code.yaml."""
    kinds = yaml.safe_load((HERE / "machine_code.yaml").read_text())
    del kinds["kernels"]
    return tuple(
        Known(kind, kernel, function, change, group["why"])
        for kind, groups in kinds.items()
        for group in groups
        for kernel, function, change in group["of"]
    )


def place_of(table: LineTable, mutant: Mutant) -> list[str]:
    """The functions that an instruction is of, from the innermost outwards, each with its file and line."""
    return [
        f"{frame.function.partition('<')[0]} {Path(frame.file).name}:{frame.line}"
        for frame in table.frames(mutant.instruction.at)
    ]


class Campaign:
    """Mutants of kernels on trial, one after the other, and what became of each, which is in ``file`` after each
    kernel."""

    def __init__(self, machine: Machine, seed: int, file: Path | None = None) -> None:
        self.fates: dict[Mutant, Fate] = {}
        self.places: dict[Mutant, list[str]] = {}
        self._machine, self._seed, self._file = machine, seed, file

    def rows(self) -> list[dict[str, Any]]:
        return [{"id": mutant.id, "of": self.places[mutant], **vars(fate)} for mutant, fate in self.fates.items()]

    def run(self, target: str, kernels: Sequence[str], count: int) -> None:
        """``count`` mutants of each of the kernels."""
        port = IsaPort(target)
        try:
            for name in kernels:
                began = time.monotonic()
                subject = subject_of(self._machine, target, name)
                chosen = sampled(subject.mutants(), count, random.Random(f"{self._seed} {target} {name}"))
                table = lines(subject.kernel.module, target)
                for mutant in chosen:
                    self._judge(port, subject, table, mutant)
                if self._file:
                    self._file.write_text(json.dumps(self.rows(), indent=0))
                kinds = Counter(self.fates[mutant].kind for mutant in chosen)
                print(f"{target} {name}: {dict(kinds)}, {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
        finally:
            port.close()

    def _judge(self, port: IsaPort, subject: Subject, table: LineTable, mutant: Mutant) -> None:
        viable = is_instruction(self._machine, mutant)
        fate = tried(port, subject, mutant) if viable else Fate("not viable", "no instruction", 0, 0.0)
        places = self.places[mutant] = place_of(table, mutant)
        if fate.kind == "survived":
            names = [place.partition(" ")[0] for place in places]
            row = next((row for row in known() if row.holds(mutant, names)), None)
            fate = fate if row is None else Fate(row.kind, row.why, fate.cases, fate.seconds)
        self.fates[mutant] = fate


def sampled(mutants: Sequence[Mutant], count: int, chance: random.Random) -> list[Mutant]:
    """``count`` mutants, of groups by their weights and evenly within one."""
    groups: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        groups[mutant.group].append(mutant)
    found: list[Mutant] = []
    while groups and len(found) < count:
        group = chance.choices(list(groups), [WEIGHTS.get(one, 1.0) for one in groups])[0]
        found.append(groups[group].pop(chance.randrange(len(groups[group]))))
        if not groups[group]:
            del groups[group]
    return found


KILLED = ("answer", "report", "time-out")
KINDS = (*KILLED, "survived", "missing case", "equivalent", "not viable")


def table(fates: Mapping[Mutant, Fate]) -> list[str]:
    """How many mutants there are of each group of operators, by what became of them, and their seconds."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    seconds: dict[str, float] = defaultdict(float)
    for mutant, fate in fates.items():
        for group in (mutant.group, f"all of {mutant.target}", "all"):
            counts[group][fate.kind] += 1
            seconds[group] += fate.seconds
    lines = [f"{'':16}{''.join(f'{kind:>12}' for kind in KINDS)}     rate seconds"]
    for group, row in sorted(counts.items(), key=lambda item: item[0].startswith("all")):
        killed = sum(row[kind] for kind in KILLED)
        rate = 100 * killed / max(killed + row["survived"] + row["missing case"], 1)
        lines.append(f"{group:16}{''.join(f'{row[kind]:12}' for kind in KINDS)} {rate:7.1f}% {seconds[group]:7.1f}")
    return lines


def try_machine_code(arguments: argparse.Namespace) -> None:
    """A sample of ``--count`` mutants over the targets and the kernels, and which of them survive."""
    began, targets = time.monotonic(), arguments.arch or TARGETS
    names = arguments.only or kernels()
    each = max(1, arguments.count // (len(targets) * len(names)))
    machine = Machine(build(isa_plan()))
    campaign = Campaign(machine, arguments.seed, arguments.json)
    try:
        for target in targets:
            campaign.run(target, names, each)
    finally:
        machine.close()
    print(*table(campaign.fates), sep="\n")
    survived = [row for row in campaign.rows() if row["kind"] == "survived"]
    print(f"\nsurvived: {len(survived)}")
    for row in survived:
        print(f"{row['id']}   [{' < '.join(row['of'][:3])}] {row['cases']} cases")
    print(f"{time.monotonic() - began:.0f} s")
