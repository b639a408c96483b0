"""Mutants of the reference and of what specs say of kernels, and what was decided of some by hand."""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from conformance.dtypes import DTYPES
from conformance.files import REFERENCE
from conformance.spec.kernel import Kernel
from tests.selftest.catalogue import Known, decided
from tests.selftest.python_sites import places

KNOWN = Path(__file__).parent / "judges.yaml"
WEIGHTS = {"statement": 4.0, "guard": 2.0, "comparison": 1.5, "constant": 0.7, "arguments": 0.7}


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
    column: int = 0

    @property
    def id(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.kernel is None else f"{self.file}: {self.kernel.name}"
        return f"{where}: {self.operator}: {self.change}"


def files_of_reference() -> list[str]:
    return sorted(path.relative_to(REFERENCE).as_posix() for path in REFERENCE.rglob("*.py"))


@cache
def known() -> tuple[Known, ...]:
    """The rows of judges.yaml."""
    return decided(KNOWN)


def known_of(mutant: Mutant, *kinds: str) -> Known | None:
    """What was decided of it, as one of ``kinds``."""
    where = (mutant.file, mutant.unit, f"{mutant.operator}: {mutant.change}")
    return next((row for row in known() if row.kind in kinds and row.holds(*where)), None)


def of_reference(count: int, seed: int, files: Sequence[str] = ()) -> list[Mutant]:
    """``count`` mutants of the reference, or of some of its files, spread over files and operators."""
    chance = random.Random(seed)
    pools: dict[str, list[Mutant]] = {}
    for file in files_of_reference():
        text = (REFERENCE / file).read_text()
        if files and file not in files:
            continue
        rows, source = [], text.splitlines()
        for number, place in enumerate(places(ast.parse(text))):
            assert isinstance(place.old, ast.expr | ast.stmt)
            line, column = place.old.lineno, place.old.col_offset
            unit, lines = source[line - 1].strip(), tuple(place.lines) if place.runs else ()
            one = Mutant(file, line, place.operator, place.text, unit, lines, number, column=column)
            rows.append((chance.random() / WEIGHTS.get(place.operator, 1.0), one))
        mine = [one for _, one in sorted(rows, key=lambda row: row[0]) if known_of(one, "left_out") is None]
        if mine:
            pools[file] = mine
    total = sum(len(pool) ** 0.6 for pool in pools.values())
    return [one for pool in pools.values() for one in pool[: max(1, round(count * len(pool) ** 0.6 / total))]]


def of_specs(kernels: Sequence[Kernel], count: int, seed: int) -> list[Mutant]:
    """``count`` mutants of what specs say of ``kernels``, as many of each kind as there are."""
    pools: dict[str, list[Mutant]] = defaultdict(list)
    for kernel in sorted(kernels, key=lambda one: one.name):
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
