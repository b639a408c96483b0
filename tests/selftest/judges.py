"""The reference and the specs on trial: mutants of both, judged by the recorded answers of Candle's own kernels.

Recorded answers alone cannot show that a bound is too wide, or too narrow: each is also judged with elements changed
(``altered``), of which a mutant has to say what the unmutated reference says. What only these tell is counted apart.
A mutant is judged by those cases that come to its line, in a process of its own.
"""

from __future__ import annotations

import ast
import gc
import importlib
import json
import os
import resource
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any
from unittest import mock

from conformance.files import REFERENCE
from conformance.outcome import NO_EVIDENCE
from conformance.replay.traces import Traces
from conformance.writing import write_text
from tests.selftest.altered import rejected, wanted
from tests.selftest.mutants import Mutant, files_of_reference, known_of
from tests.selftest.python_sites import places
from tests.selftest.recordings import Line, Recorded, tracing, wrong_with

SECONDS, BYTES = 30, 12 << 30
"""What a mutant may use of the processor and of memory; a loop without an end takes more."""
KINDS = ("right", "accepted", "narrow", "ported", "equivalent", "unrecorded", "not reached", "survived", "broken")
"""Killed by recorded answers, by wrong ones that are accepted, by right ones on a bound that are not, or by answers of
our port; known to be the same, or to need what nobody recorded; come to by no case; alive; or a fault of the trial."""
KILLED = ("right", "accepted", "ported")
NOTED = 20
"""Mutants between two writes of what was found."""
MOST = 1000
"""Cases whose answers are judged altered too; all are judged as they are."""


@dataclass(frozen=True)
class Found:
    """What became of a mutant: killed by ``right`` answers, by ``accepted`` wrong ones, as too ``narrow``, or not."""

    kind: str
    why: str
    seconds: float = 0.0


def verdict(cases: Sequence[Recorded]) -> Found:
    """What the answers to ``cases`` say of the reference and the specs as they are in this process."""
    every = []
    for one in cases:
        try:
            expected = wanted(one.kernel, one.launch)
            wrong = wrong_with(one, expected)
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        if wrong is not None:
            return Found("right", f"{one.case.id}: {wrong}")
        every.append(expected)
    narrow = None
    for one, expected in zip(cases[:MOST], every[:MOST], strict=True):
        for change in one.altered:
            where = f"{one.case.id}: {change.what}"
            try:
                now = rejected(one.kernel, one.launch, one.answer, expected, change)
            except Exception as error:
                return Found("accepted", f"{where}: {type(error).__name__}: {error}")
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
def imported_lines() -> frozenset[Line]:
    """The lines that run when the reference is imported, inside functions too."""

    def again() -> list[Line]:
        names = [
            name for name in map(module_of, files_of_reference()) if name not in ("reference", "reference.expected")
        ]
        for name in names:
            sys.modules.pop(name, None)
        with tracing() as lines:
            for name in names:
                importlib.import_module(name)
        return sorted(lines)

    return frozenset((file, line) for file, line in in_child(again)[0])


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


def in_child(work: Callable[[], Any]) -> tuple[Any, float]:
    """What ``work`` gives in a process of its own, ``None`` for one that is killed there, and the seconds it takes."""
    out, into = os.pipe()
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        status = 1
        try:
            os.close(out)
            with mock.patch("conformance.verdict.judge.evidence_of", return_value=NO_EVIDENCE):  # costly, not asked
                answer = json.dumps(work())
            with os.fdopen(into, "wb") as pipe:
                pipe.write(answer.encode())
            status = 0
        finally:
            os._exit(status)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(pid, 0)
    return json.loads(text) if text else None, time.monotonic() - started


def cases_of(mutant: Mutant, every: Sequence[Recorded]) -> list[Recorded]:
    """The recorded cases that come to a mutant, the first of each kernel before the others, and cheap ones first."""
    if mutant.kernel is not None:
        return [one for one in every if one.kernel.name == mutant.kernel.name]
    lines = {(mutant.file, line) for line in mutant.lines}
    if lines and lines.isdisjoint(imported_lines()):
        return [one for one in every if not lines.isdisjoint(one.lines)]
    using = users(module_of(mutant.file))
    return [one for one in every if f"reference.{one.kernel.module}" in using]


def judged(mutant: Mutant, every: Sequence[Recorded]) -> Found:
    """What becomes of a mutant."""
    cases = cases_of(mutant, every)
    if not cases:
        row = known_of(mutant, "unrecorded")
        return Found("unrecorded" if row else "not reached", row.why if row else "no case comes to it")
    answer, seconds = in_child(lambda: astuple((_by_spec if mutant.kernel else _of)(mutant, cases)))
    kind, why = answer[:2] if answer else ("right", "comes to no end, or takes all memory")
    row = known_of(mutant, "equivalent", "unrecorded") if kind == "survived" else None
    return Found(row.kind, row.why, seconds) if row else Found(kind, why, seconds)


def _of(mutant: Mutant, cases: Sequence[Recorded]) -> Found:
    taken = substitute(mutant.file, mutated(mutant))
    found = verdict(cases)
    return found if taken() else Found("broken", "the mutant was not run")


def _by_spec(mutant: Mutant, cases: Sequence[Recorded]) -> Found:
    """What ``cases`` say once they are read by the mutated spec."""
    kernel = mutant.kernel
    assert kernel is not None
    if not cases[0].of_candle:
        return verdict([replace(one, kernel=kernel) for one in cases])
    try:
        read = {trace.case: trace for trace in Traces(REFERENCE / "traces").of(kernel)}
    except ValueError as error:
        return Found("right", f"{type(error).__name__}: {error}")
    rows = [(one, read[one.case]) for one in cases]
    return verdict([replace(one, kernel=kernel, launch=trace.launch, answer=trace.answer) for one, trace in rows])


def resumed(file: Path) -> dict[str, Found]:
    """The mutants that were killed in an earlier run."""
    rows = {row.pop("id"): row for row in json.loads(file.read_text())}
    return {name: Found(row["kind"], row["why"], row["seconds"]) for name, row in rows.items() if row["kind"] in KILLED}


def run(
    mutants: Sequence[Mutant], every: Sequence[Recorded], found: dict[str, Found], file: Path | None = None
) -> None:
    """Find what becomes of each of ``mutants``, by its id."""
    gc.freeze()  # a collection in a child would copy all of it
    try:
        for mutant in _noted([one for one in mutants if one.id not in found], found, file):
            found[mutant.id] = judged(mutant, every)
    finally:
        gc.unfreeze()


def by_port(
    mutants: Sequence[Mutant], cases: Sequence[Recorded], found: dict[str, Found], file: Path | None = None
) -> None:
    """Judge what is alive by the answers of our port as well: what these kill is of the kind ``ported``, whatever was
    decided of it by hand."""
    for mutant in _noted([one for one in mutants if found[one.id].kind not in (*KILLED, "broken")], found, file):
        then = judged(mutant, cases)
        if then.kind in KILLED:
            found[mutant.id] = replace(then, kind="ported")


def _noted(mutants: Sequence[Mutant], found: dict[str, Found], file: Path | None) -> Iterator[Mutant]:
    """Each of ``mutants``; what was found by then is written to ``file`` every so often."""
    for number, mutant in enumerate(mutants, 1):
        yield mutant
        if file is not None and (number % NOTED == 0 or number == len(mutants)):
            rows = [{"id": name, **asdict(one)} for name, one in found.items()]
            write_text(file, json.dumps(rows, indent=0))
            print(f"{number} of {len(mutants)}", file=sys.stderr, flush=True)


def report(mutants: Sequence[Mutant], found: dict[str, Found]) -> list[str]:
    """How many of each kind there are, by file and by operator, and what is alive."""
    lines = []
    for title in ("file", "operator"):
        groups: dict[str, Counter[str]] = defaultdict(Counter)
        for mutant in mutants:
            for name in (getattr(mutant, title), "all"):
                groups[name][found[mutant.id].kind] += 1
        lines += ["", f"by {title}: {' '.join(KINDS)}"]
        lines += [f"{name}: {' '.join(str(groups[name][kind]) for kind in KINDS)}" for name in sorted(groups)]
    for kind in ("narrow", "not reached", "survived", "broken"):
        rows = [one for one in mutants if found[one.id].kind == kind]
        lines += ["", f"{kind}: {len(rows)}", *(f"{one.id}   [{one.unit[:120]}] {found[one.id].why}" for one in rows)]
    return lines
