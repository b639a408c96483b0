"""The clamp bit: integers saturate, floats are held between 0 and 1, of other instructions it is not known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.isa_runtime.code import HEAD, TAIL, VECTOR, A, B, C, code_object, vop3
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_launches import NOT_SUPPORTED, SLOTS
from tests.isa_runtime.test_vector_instructions import LANES, run, same, values

CLAMP = 1 << 15
SUMS = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "subrev": lambda a, b: b - a}


def saturated(name: str, kind: Any, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    info = np.iinfo(kind)
    return np.clip(SUMS[name](a.astype(np.int64), b.astype(np.int64)), info.min, info.max).astype(kind)


@pytest.mark.parametrize(
    ("name", "suffix", "kind"),
    [
        *((name, "u32", np.uint32) for name in SUMS),
        *((name, "u16", np.uint16) for name in SUMS),
        *((name, "i32", np.int32) for name in ("add", "sub")),
        *((name, "i16", np.int16) for name in ("add", "sub")),
    ],
)
def test_sums_of_integers_saturate(machine: Machine, name: str, suffix: str, kind: Any) -> None:
    a, b = values(kind, 1), values(kind, 2)
    first, second = vop3(f"v_{name}_{suffix}", VECTOR + A, VECTOR + B)
    same(run(machine, [first | CLAMP, second], kind, a, b), saturated(name, kind, a, b))


@pytest.mark.parametrize(
    ("word", "name", "kind"),
    [(0xD38AC00A, "add", np.uint16), (0xD383C00A, "sub", np.int16)],  # v_pk_add_u16, v_pk_sub_i16
)
def test_packed_sums_saturate(machine: Machine, word: int, name: str, kind: Any) -> None:
    a, b = (np.random.default_rng(seed).integers(0, 1 << 32, LANES, np.uint32) for seed in (1, 2))
    expected = saturated(name, kind, a.view(kind), b.view(kind)).view(np.uint32)
    same(run(machine, [word, 0x18020D04], np.uint32, a, b), expected)


def test_sdwa_saturates_too(machine: Machine) -> None:
    a, b = values(np.uint32, 1), values(np.uint32, 2)
    same(run(machine, [0x68140CF9, 0x06063604], np.uint32, a, b), saturated("add", np.uint32, a, b))


def test_packed_floats_are_held_between_0_and_1(machine: Machine) -> None:
    a = np.linspace(-2, 2, 2 * LANES, dtype=np.float32).view(np.uint64)
    b = np.full(2 * LANES, 0.25, np.float32).view(np.uint64)
    got = run(machine, [0xD3B2C00A, 0x18020D04], np.uint64, a, b)  # v_pk_add_f32
    same(got.view(np.float32), np.clip(a.view(np.float32) + np.float32(0.25), 0, 1))


@pytest.mark.parametrize(("name", "sources"), [("v_mad_u32_u24", (A, B, C)), ("v_cvt_i32_f32", (A,))])
def test_what_the_bit_does_elsewhere_is_not_known(machine: Machine, name: str, sources: tuple[int, ...]) -> None:
    first, second = vop3(name, *(VECTOR + register for register in sources))
    failed, message, _ = machine.launch(code_object([*HEAD, first | CLAMP, second, *TAIL]), SLOTS, SLOTS, SLOTS, SLOTS)
    assert failed == NOT_SUPPORTED
    assert message.startswith(f"kernel k: the interpreter does not know {name}, at 0x")
