"""A second opinion on what instructions do: AMD's pseudocode, in the tables of tinygrad 0.14 where that is installed.

The rows of test_vector_semantics.py and test_scalar_semantics.py say which instructions, with which operands. A NaN
equals any NaN: the payload that an operation gives is not compared.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np
import pytest

from tests.isa_runtime import test_scalar_semantics as scalars
from tests.isa_runtime import test_vector_semantics as vectors
from tests.isa_runtime.documents.errata import ERRATA
from tests.isa_runtime.documents.functions import TOWARDS_ZERO, bits_of, typed
from tests.isa_runtime.documents.statements import function
from tests.isa_runtime.documents.tokens import Env, Unreadable
from tests.isa_runtime.instructions import scalar, vector
from tests.isa_runtime.instructions.words import OLD, Target
from tests.isa_runtime.machine import Machine

FAMILIES = {9: "cdna", 11: "rdna3", 12: "rdna4"}
"""tinygrad's tables, by the generation of the instructions."""
KINDS = ("VOP3Op", "VOP3SDOp", "VOP2Op", "VOP1Op", "VOPCOp", "VOP3POp", "SOP1Op", "SOP2Op", "SOPCOp", "SOPKOp")
LANES = (*range(32), *range(32, vector.LANES, 7))
"""Those that are evaluated, one by one; the first have both zeros with every special value."""
READ = {
    ("cdna", "vector"): 406,
    ("cdna", "scalar"): 111,
    ("rdna3", "vector"): 384,
    ("rdna3", "scalar"): 170,
    ("rdna4", "vector"): 355,
    ("rdna4", "scalar"): 164,
}
"""How many instructions are read at least: not the approximate ones, v_trig_preop, and what the table has not got."""


@cache
def pseudocode(family: str) -> dict[str, str]:
    """By mnemonic."""
    try:
        tables = importlib.import_module(f"tinygrad.runtime.autogen.amd.{family}.str_pcode")
    except ImportError:
        pytest.skip("no second opinion on instructions without tinygrad: pip install tinygrad==0.14.0")
    found: dict[str, str] = {}
    for kind in KINDS:
        for op, code in tables.PCODE.items():
            if type(op).__name__ == kind:
                found.setdefault(re.sub(r"_e(32|64)$", "", op.name.lower()), code)
    return found


@cache
def readable(family: str, name: str) -> Callable[[Env], None] | None:
    try:
        return function(pseudocode(family)[name])
    except (Unreadable, KeyError):
        return None


def called(family: str) -> Callable[[str], Any]:
    """Instructions that others use as functions."""

    def find(name: str) -> Callable[..., Any]:
        body = readable(family, name)
        if body is None:
            raise Unreadable(name)

        def call(*given: Any) -> Any:
            env = {**constants(family), **{f"S{n}": bits_of(value) for n, value in enumerate(given)}}
            body(env)
            kind = re.search(r"_([fiu])(\d+)$", name)
            assert kind is not None
            size = 32 if name.startswith("v_sad") else int(kind[2])  # the sum of differences of parts
            return typed(bits_of(env["D0"]), kind[1], size)

        return call

    return find


def constants(family: str) -> Env:
    """Modes and names of values; the lane is the first of its wave."""
    modes: Env = {
        "WAVE_MODE": {"IEEE": 1},
        "TRAPSTS": 0,
        "ROUND_MODE": 0,
        "ROUND_TOWARD_ZERO": TOWARDS_ZERO,
        "ROUND_NEAREST_EVEN": 0,
    }
    values: Env = {
        "PI": np.pi,
        "INF": np.float64(np.inf),
        "UNDERFLOW_F32": np.float32(0),
        "UNDERFLOW_F64": np.float64(0),
    }
    values |= {
        "OVERFLOW_F32": np.float32(np.inf),
        "OVERFLOW_F64": np.float64(np.inf),
        "laneId": 0,
        "instruction": called(family),
    }
    return {**modes, **values, "OPSEL": 0, "OPSEL_HI": 7, "NEG": 0, "NEG_HI": 0, "D0": 0}


def result(row: Any, bits: int) -> Any:
    """The lower bits as the row's type."""
    kind = np.dtype(np.uint32 if row.result in (bool, None) else row.result)
    return np.array([bits & (1 << 8 * kind.itemsize) - 1], f"u{kind.itemsize}").view(kind)


def vector_answers(family: str, name: str, row: vector.Row) -> Iterator[Any]:
    """The results of the lanes; raises ``Unreadable``."""
    body = readable(family, name)
    if body is None:
        raise Unreadable(name)
    given = [vector.padded(array).tolist() for array in row.given()]
    for lane in LANES:
        mask = int(vector.TAKEN[lane])
        env = {**constants(family), "VCC": mask, "EXEC": 1, "D0": OLD << 32 | OLD}
        env |= {f"S{n}": values[lane] for n, values in enumerate(given)}
        if row.form == "accumulates":
            env["D0"] = given[2][lane]
        if row.form == "floats":
            env["OPSEL_HI"] = 0
        body(env)
        place = {"exec": "EXEC", "carry": "VCC", "carry in and out": "VCC"}.get(row.form, "D0")
        place = "D1" if place == "VCC" and "D1" in env else place
        yield result(row, bits_of(env[place]) & 1 if row.result is bool else bits_of(env[place]))


def scalar_answers(family: str, name: str, row: scalar.Row, constant: int, wave: int) -> Iterator[tuple[Any, bool]]:
    """The results and SCC of the cases; raises ``Unreadable``."""
    body = readable(family, name)
    if body is None:
        raise Unreadable(name)
    case = scalar.case_of(row, constant)
    a, b, d = (scalar.padded(array).tolist() for array in (case.a, case.b, case.d))
    for n in LANES:
        mask = int(case.exec[n]) & (1 << wave) - 1
        env = {**constants(family), "S0": a[n], "S1": b[n], "D0": d[n], "EXEC": mask, "SCC": int(case.scc[n])}
        if name.startswith(("s_cmpk", "s_movk", "s_cmovk", "s_addk", "s_mulk")):
            low = constant & 0xFFFF
            env |= {"SIMM16": low, "S0": d[n] if "cmpk" in name else low, "S1": low}
        body(env)
        value = bits_of(env["EXEC" if row.to_exec else "D0"])
        yield result(row, value), bool(env["SCC"])


Pair = tuple[str, Any, Any]
"""Of which operands, what the interpreter gives, and what the pseudocode."""


def vector_pairs(machine: Machine, generation: int, family: str) -> Iterator[tuple[str, Iterator[Pair]]]:
    """The results of each instruction, by lane. Halves that are chosen and constants are not in the pseudocode."""
    rows = [row for rows in vectors.ROWS.values() for row in rows]
    known = [
        entry
        for entry in vectors.given(generation, rows)
        if readable(family, entry[1]) and entry[2].form not in ("literal", "crossed", "high halves")
    ]
    for (target, *_), group in groupby(sorted(known, key=vectors.alike), key=vectors.alike):
        entries = [(name, row) for _, name, row in group]
        for (name, row), got in zip(entries, vector.results(machine, Target(target), entries), strict=True):
            given = row.given()
            answers = zip(LANES, vector_answers(family, name, row), strict=True)
            yield (
                name,
                ((f"{name} of {[a[n] for a in given]}", result(row, int(got[n])), value) for n, value in answers),
            )


def scalar_pairs(machine: Machine, generation: int, family: str) -> Iterator[tuple[str, Iterator[Pair]]]:
    """The results of each instruction, by case, and SCC."""
    rows = [row for rows in scalars.ROWS.values() for row in rows]
    known = [
        entry for entry in scalars.given(generation, rows) if readable(family, entry[1][0]) and not entry[1][1].literal
    ]
    for (target, *_), group in groupby(sorted(known, key=scalars.alike), key=scalars.alike):
        entries = [entry for _, entry in group]
        after = zip(entries, *scalar.results(machine, Target(target), entries), strict=True)
        for (name, row, constant), values, flags in after:
            yield name, scalar_cases(family, name, row, constant, Target(target).wave, values, flags)


def scalar_cases(
    family: str, name: str, row: scalar.Row, constant: int, wave: int, values: Any, flags: Any
) -> Iterator[Pair]:
    answers = scalar_answers(family, name, row, constant, wave)
    for n, (value, scc) in zip(LANES, answers, strict=True):
        yield f"{name} of case {n}, constant {constant}", result(row, int(values[n])), value
        yield f"SCC of {name}, case {n}, constant {constant}", np.array([flags[n]], np.uint8), np.array([scc], np.uint8)


PAIRS = {"vector": vector_pairs, "scalar": scalar_pairs}


@pytest.mark.nightly("evaluates AMD's pseudocode of each instruction")
@pytest.mark.parametrize("generation", FAMILIES)
@pytest.mark.parametrize("unit", PAIRS)
def test_instructions_agree_with_the_documents(machine: Machine, unit: str, generation: int) -> None:
    family, wrong, read = FAMILIES[generation], {}, set()
    with np.errstate(all="ignore"):
        for name, pairs in PAIRS[unit](machine, generation, family):
            try:
                differing = (pair for pair in pairs if not vector.equal(*pair[1:])[0])
                where, got, expected = next(differing, ("", [0], [0]))
            except Unreadable:
                continue
            read.add(name)
            if where:
                wrong.setdefault(name, f"{where} is {got[0]!r}, not {expected[0]!r}")
    errata = ERRATA[family].keys() & read
    assert not [said for name, said in wrong.items() if name not in errata], f"in the table {family}"
    assert errata <= wrong.keys(), "what is said to be wrong in the table is right"
    assert len(read) >= READ[family, unit]
