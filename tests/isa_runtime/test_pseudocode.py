"""Integer instructions of CDNA against AMD's pseudocode, in the tables of tinygrad 0.14 where that is installed."""

from __future__ import annotations

import importlib
from functools import cache

import numpy as np
import pytest

from tests.isa_runtime.code import FLAG_OF_S20, HEAD, TAIL, VECTOR, A, B, C, code_object, table, vop3
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.pseudocode import Evaluate, Unreadable, function
from tests.isa_runtime.test_launches import NOT_SUPPORTED
from tests.isa_runtime.test_vector_instructions import LANES

KNOWN: dict[str, str] = {}
"""Instructions whose pseudocode is wrong, and why."""
WORDS = (0, 1, 2, 31, 32, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFF, 0x800000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


@cache
def pseudocode() -> dict[str, str]:
    """Of CDNA's VOP1, VOP2 and VOP3, by mnemonic."""
    try:
        tables = importlib.import_module("tinygrad.runtime.autogen.amd.cdna.str_pcode")
    except ImportError:
        pytest.skip("no second opinion on instructions without tinygrad: pip install tinygrad==0.14.0")
    kinds = ("VOP1Op", "VOP2Op", "VOP3Op", "VOPCOp")
    return {
        op.name.lower().removesuffix("_e64"): code for op, code in tables.PCODE.items() if type(op).__name__ in kinds
    }


def operands(place: int) -> np.ndarray:
    random = np.random.default_rng(place)
    given = random.integers(0, 1 << 64, LANES, np.uint64)
    words = np.array(WORDS, np.uint64)
    given[: words.size] = np.roll(words, 3 * place)
    given[words.size : 2 * words.size] = np.roll(words, 5 * place) << np.uint64(32) | words
    return given


def readable() -> list[tuple[str, Evaluate]]:
    found = []
    for name, code in pseudocode().items():
        try:
            if ("VOP3", name) in table():
                evaluate = function(code)
                evaluate([1, 1, 1])
                found.append((name, evaluate))
        except Unreadable:
            continue
    return found


def test_integers_agree_with_the_documents(machine: Machine) -> None:
    given = [operands(place) for place in range(3)]
    rows, wrong, unknown = readable(), {}, []
    for name, evaluate in rows:
        words = vop3(name, *(VECTOR + register for register in (A, B, C)))
        if name.startswith("v_cmp_"):
            words = [*vop3(name, VECTOR + A, VECTOR + B, out=20), *FLAG_OF_S20]
        file = code_object([*HEAD, *words, *TAIL])
        failed, message, after = machine.launch(file, *given, np.zeros(LANES, np.uint64))
        if failed == NOT_SUPPORTED:
            unknown.append(name)
            continue
        assert failed == 0, message
        for lane in range(LANES):
            expected, bits = evaluate([int(operand[lane]) for operand in given])
            got = int(after[3][lane]) & ((1 << bits) - 1)
            if got != expected:
                wrong[name] = f"{[hex(int(o[lane])) for o in given]} gives {got:#x}, not {expected:#x}"
                break
    assert {name: said for name, said in wrong.items() if name not in KNOWN} == {}
    assert KNOWN.keys() <= wrong.keys()
    assert len(rows) - len(unknown) > 90
