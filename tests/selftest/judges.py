"""The reference and the specs on trial: mutants of both, judged by the recorded answers of Candle's own kernels.

Recorded answers alone cannot show that a bound is too wide, or too narrow: each is also judged with elements changed
(``altered``), of which a mutant has to say what the unmutated reference says. What only these tell is counted apart.
A mutant is judged by those cases that come to its line, in a process of its own.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import random
import re
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any
from unittest import mock

import yaml

from conformance.cases.case import Case
from conformance.cases.launch import Launch
from conformance.dtypes import DTYPES
from conformance.files import REFERENCE
from conformance.outcome import NO_EVIDENCE
from conformance.replay.traces import Traces
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from conformance.verdict.judge import INDEX_DIFFERS, TIE_ORDER_DIFFERS, Judging, recorded_answer
from conformance.verdict.loop import Buffers, Counts
from conformance.verdict.trials import TrialCase
from tests.selftest.altered import Altered, Wanted, altered, rejected, wanted
from tests.selftest.python_sites import places

KNOWN = Path(__file__).parent / "judges.yaml"
SECONDS, BYTES = 20, 12 << 30
"""What a mutant may use of the processor and of memory; a loop without an end takes more."""
WEIGHTS = {"statement": 4.0, "guard": 2.0, "comparison": 1.5, "constant": 0.7, "arguments": 0.7}
Line = tuple[str, int]


@dataclass(eq=False)
class Recorded:
    """A recorded answer, with what the unmutated reference says of it once elements are changed.

    ``lines`` are those of the reference that run for it, ``seconds`` the time that takes."""

    kernel: Kernel
    case: Case
    launch: Launch
    answer: Buffers
    rank: int
    altered: list[Altered] = field(default_factory=list)
    lines: frozenset[Line] = frozenset()
    seconds: float = 0.0


@dataclass(frozen=True)
class Mutant:
    """What is changed of a file of the reference or, with ``kernel``, of what a spec says of that.

    ``unit`` is the text of the line, ``lines`` those that run with it; without any it runs on import."""

    file: str
    line: int
    operator: str
    change: str
    unit: str = ""
    lines: tuple[int, ...] = ()
    number: int = -1
    kernel: Kernel | None = None

    @property
    def id(self) -> str:
        where = f"{self.file}:{self.line}" if self.kernel is None else f"{self.file}: {self.kernel.name}"
        return f"{where}: {self.operator}: {self.change}"


@dataclass(frozen=True)
class Found:
    """What became of a mutant: killed by ``right`` answers, by ``accepted`` wrong ones, as too ``narrow``, or not."""

    kind: str
    why: str
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
        for rank, trace in enumerate(traces.of(kernel)):
            one = Recorded(kernel, trace.case, trace.launch, trace.answer, rank)
            wrong = _observe(one)
            assert wrong is None, f"{trace.case.id}: {wrong}"
            found.append(one)
    return sorted(found, key=lambda one: (one.rank, one.seconds))


def _observe(one: Recorded) -> str | None:
    """Fill in what the unmutated reference says, and the lines that run; what is wrong with the recorded answer."""
    for module in _modules():
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()  # what is taken from a cache would not run
    seen: set[tuple[CodeType, int]] = set()

    def of_line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            seen.add((frame.f_code, frame.f_lineno))
        return of_line

    folder, started = f"{REFERENCE}{os.sep}", time.process_time()
    sys.settrace(lambda frame, event, _: of_line if frame.f_code.co_filename.startswith(folder) else None)
    try:
        expected = wanted(one.kernel, one.launch)
        wrong = wrong_with(one.kernel, one.case, one.launch, one.answer, expected)
        one.altered = altered(one.kernel, one.launch, one.answer, expected)
    finally:
        sys.settrace(None)
    one.seconds = time.process_time() - started
    one.lines = frozenset((Path(code.co_filename).relative_to(REFERENCE).as_posix(), line) for code, line in seen)
    return wrong


def _modules() -> list[ModuleType]:
    return [module for name, module in list(sys.modules.items()) if name.startswith("reference.")]


def wrong_with(kernel: Kernel, case: Case, launch: Launch, answer: Buffers, expected: Wanted) -> str | None:
    """What the reference has against a recorded answer, as ``replay --subject reference`` judges it.

    Candle's own answer is in Candle's own order, which the judge lets pass otherwise, and takes note of."""
    order = {name: replace(one, exact=None) for name, one in expected.items()}
    trial = TrialCase(case, launch, order, answer)
    judging = Judging(kernel)
    judging.begin(trial)
    wrong = judging.take(trial, recorded_answer(trial, ""))
    note = judging.finish(Counts(cases=1))["message"] if wrong is None else wrong.why
    return note if wrong is not None or note in (TIE_ORDER_DIFFERS, INDEX_DIFFERS) else None


def verdict(cases: Sequence[tuple[Recorded, Kernel, Launch, Buffers]]) -> Found:
    """What the answers to ``cases`` say of the reference and the specs as they are in this process."""
    every = []
    for one, kernel, launch, answer in cases:
        try:
            expected = wanted(kernel, launch)
            wrong = wrong_with(kernel, one.case, launch, answer, expected)
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        if wrong is not None:
            return Found("right", f"{one.case.id}: {wrong}")
        every.append(expected)
    narrow = None
    for (one, kernel, launch, answer), expected in zip(cases, every, strict=True):
        for change in one.altered:
            try:
                now = rejected(kernel, launch, answer, expected, change)
            except Exception as error:
                return Found("accepted", f"{one.case.id}: {change.what}: {type(error).__name__}: {error}")
            where = f"{one.case.id}: {change.what}"
            if (change.rejected & ~now).any():
                return Found("accepted", where)
            if narrow is None and (now & ~change.rejected).any():
                narrow = Found("narrow", where)
    return narrow or Found("survived", f"{len(cases)} cases")


class _Instead(MetaPathFinder, Loader):
    """Finds a module whose code is another."""

    def __init__(self, name: str, file: Path, code: CodeType) -> None:
        self._name, self._file, self._code = name, file, code
        self.taken = False

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, origin=str(self._file)) if name == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        self.taken = True
        module.__file__ = str(self._file)
        exec(self._code, module.__dict__)


def module_of(file: str) -> str:
    return f"reference.{file.removesuffix('.py').replace('/', '.').removesuffix('.__init__')}"


@cache
def users(name: str) -> frozenset[str]:
    """The modules that import module ``name`` of the reference, directly or not, and itself.

    The package is no user: it imports modules by name, when they are asked for."""
    imports: dict[str, set[str]] = defaultdict(set)
    for path in REFERENCE.rglob("*.py"):
        module = module_of(path.relative_to(REFERENCE).as_posix())
        for one in ast.walk(ast.parse(path.read_text())):
            if isinstance(one, ast.ImportFrom) and one.module:
                imports[module] |= {one.module, *(f"{one.module}.{alias.name}" for alias in one.names)}
    found, before = {name}, set[str]()
    while found != before:
        before = set(found)
        found |= {module for module, names in imports.items() if names & found}
    return frozenset(found - {"reference", "reference.__init__"})


def substitute(file: str, code: CodeType) -> Callable[[], bool]:
    """Put ``code`` in place of a file's, here and in everything that has imported it; whether it was run since."""
    name = module_of(file)
    for user in users(name):
        sys.modules.pop(user, None)
        package, _, attribute = user.rpartition(".")
        if package in sys.modules:  # where "from package import module" looks first
            vars(sys.modules[package]).pop(attribute, None)
    instead = _Instead(name, REFERENCE / file, code)
    sys.meta_path.insert(0, instead)
    return lambda: instead.taken


def mutated(mutant: Mutant) -> CodeType:
    """The code of the file with its change."""
    path = REFERENCE / mutant.file
    tree = ast.parse(path.read_text())
    list(places(tree))[mutant.number].apply()
    return compile(tree, str(path), "exec")


def in_child(work: Callable[[], Found]) -> Found:
    """``work`` in a process of its own; one that comes to no end is killed by what it would have to judge."""
    out, into = os.pipe()
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        status = 1
        try:
            with mock.patch("conformance.verdict.judge.evidence_of", return_value=NO_EVIDENCE):  # costly, not asked
                found = work()
            os.write(into, json.dumps([found.kind, found.why[:300]]).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        text = pipe.read().decode()
    _, ended = os.waitpid(pid, 0)
    kind, why = json.loads(text) if text else ("right", f"ended with {ended}: no end, or too much memory")
    return Found(kind, why, time.monotonic() - started)


@dataclass(frozen=True)
class Known:
    """What was decided by hand of mutants of ``file``, in a line with the text ``unit``, where ``change`` matches."""

    kind: str
    file: re.Pattern[str]
    unit: str
    change: re.Pattern[str]
    why: str


@cache
def known() -> tuple[Known, ...]:
    """The rows of judges.yaml."""
    found = []
    for kind, groups in yaml.safe_load(KNOWN.read_text()).items():
        for group in groups or ():
            for row in group["of"]:
                file, unit, change = (row, "", ".*") if isinstance(row, str) else (*row, ".*")[:3]
                found.append(Known(kind, re.compile(file), unit, re.compile(change), group["why"]))
    return tuple(found)


def known_of(mutant: Mutant, kind: str) -> Known | None:
    """What was decided of it, as ``kind``."""
    change = f"{mutant.operator}: {mutant.change}"
    for row in known():
        is_of = row.kind == kind and row.file.fullmatch(mutant.file) and row.unit in mutant.unit
        if is_of and row.change.fullmatch(change):
            return row
    return None


def of_reference(count: int, seed: int, files: Sequence[str] = ()) -> list[Mutant]:
    """``count`` mutants of the reference, or of some of its files, spread over files and operators."""
    chance = random.Random(seed)
    pools: dict[str, list[Mutant]] = {}
    for path in sorted(REFERENCE.rglob("*.py")):
        file, text = path.relative_to(REFERENCE).as_posix(), path.read_text()
        if files and file not in files:
            continue
        rows, source = [], text.splitlines()
        for number, place in enumerate(places(ast.parse(text))):
            line: int = place.old.lineno  # type: ignore[attr-defined]
            unit, lines = source[line - 1].strip(), tuple(place.lines) if place.runs else ()
            one = Mutant(file, line, place.operator, place.text, unit, lines, number)
            rows.append((chance.random() / WEIGHTS.get(place.operator, 1.0), one))
        mine = [one for _, one in sorted(rows, key=lambda row: row[0]) if known_of(one, "left_out") is None]
        if mine:
            pools[file] = mine
    total = sum(len(pool) ** 0.6 for pool in pools.values())
    return [one for pool in pools.values() for one in pool[: max(1, round(count * len(pool) ** 0.6 / total))]]


def of_specs(kernels: Sequence[Kernel], count: int, seed: int) -> list[Mutant]:
    """``count`` mutants of what specs say of ``kernels``, as many of each kind as there are."""
    pools: dict[str, list[Mutant]] = defaultdict(list)
    for kernel in kernels:
        for kind, change, other in _spec_changes(kernel, [one for one in kernels if one.module == kernel.module]):
            pools[kind].append(Mutant(f"specs/{kernel.module}.yaml", 0, kind, change, kernel.name, kernel=other))
    chance = random.Random(seed)
    for pool in pools.values():
        chance.shuffle(pool)
    return [one for pool in pools.values() for one in pool[: -(-count // len(pools))]]


def _spec_changes(kernel: Kernel, others: Sequence[Kernel]) -> Iterator[tuple[str, str, Kernel]]:
    params, far = kernel.params, kernel.tolerance
    for at, one in enumerate(params):
        same = [
            n for n in range(at + 1, len(params)) if (params[n].dtype, params[n].pointer) == (one.dtype, one.pointer)
        ]
        if same:
            swapped = list(params)
            swapped[at], swapped[same[0]] = swapped[same[0]], one
            yield "parameters", f"{one.name} <-> {swapped[at].name}", replace(kernel, params=tuple(swapped))
        size = DTYPES[one.dtype].size if one.dtype in DTYPES else 0
        for name in [name for name, row in DTYPES.items() if row.size == size and name != one.dtype][:1]:
            changed = (*params[:at], replace(one, dtype=name), *params[at + 1 :])
            yield "dtype", f"{one.name}: {one.dtype} -> {name}", replace(kernel, params=changed)
    family = [one for one in others if one.family == kernel.family]
    for axis, value in kernel.variant.items():
        for name in sorted({one.variant.get(axis, value) for one in family} - {value}):
            yield "variant", f"{axis}: {value} -> {name}", replace(kernel, variant={**kernel.variant, axis: name})
    names = [one.name for one in params]
    for name in sorted({one.family for one in others if [each.name for each in one.params] == names} - {kernel.family}):
        yield "family", f"{kernel.family} -> {name}", replace(kernel, family=name)
    for key, step in (("ulp", 1), ("library_ulp", 1), ("library_ulp", -1)):
        value = getattr(far, key)
        if value + step >= 0:
            other = replace(far, **{key: value + step})
            yield "tolerance", f"{key}: {value} -> {value + step}", replace(kernel, tolerance=other)
    if kernel.fix is not None:
        yield "defect", f"{kernel.fix.name} is taken for fixed", kernel.fixed()


def cases_of(mutant: Mutant, every: Sequence[Recorded]) -> list[Recorded]:
    """The recorded cases that come to a mutant, the first of each kernel before the others, and cheap ones first."""
    if mutant.kernel is not None:
        return [one for one in every if one.kernel.name == mutant.kernel.name]
    if mutant.lines:
        lines = {(mutant.file, line) for line in mutant.lines}
        return [one for one in every if not lines.isdisjoint(one.lines)]
    using = users(module_of(mutant.file))
    return [one for one in every if f"reference.{one.kernel.module}" in using]


def judged(mutant: Mutant, every: Sequence[Recorded]) -> Found:
    """What becomes of a mutant."""
    cases = cases_of(mutant, every)
    if not cases:
        row = known_of(mutant, "unreached")
        return Found("unreached" if row else "not reached", row.why if row else "no recorded case comes to it")
    found = in_child(lambda: _of_spec(mutant.kernel, cases) if mutant.kernel else _of_code(mutant, cases))
    row = known_of(mutant, "equivalent") if found.kind == "survived" else None
    return replace(found, kind="equivalent", why=row.why) if row else found


def _of_code(mutant: Mutant, cases: Sequence[Recorded]) -> Found:
    taken = substitute(mutant.file, mutated(mutant))
    found = verdict([(one, one.kernel, one.launch, one.answer) for one in cases])
    return found if taken() else Found("broken", "the mutant was not run")


def _of_spec(kernel: Kernel, cases: Sequence[Recorded]) -> Found:
    try:
        traces = list(Traces(REFERENCE / "traces").of(kernel))
    except ValueError as error:
        return Found("right", f"{type(error).__name__}: {error}")
    rows = zip(sorted(cases, key=lambda one: one.rank), traces, strict=True)
    return verdict([(one, kernel, trace.launch, trace.answer) for one, trace in rows])


def run(mutants: Sequence[Mutant], every: Sequence[Recorded], say: bool = False) -> dict[str, Found]:
    """What becomes of each of ``mutants``, by its id."""
    gc.freeze()  # a collection in a child would copy all of it
    found = {}
    for number, mutant in enumerate(mutants, 1):
        found[mutant.id] = judged(mutant, every)
        if say and number % 25 == 0:
            print(f"{number} of {len(mutants)}", file=sys.stderr, flush=True)
    return found
