"""Two operations in one instruction (RDNA 3 and 4): each operation in both places, beside a move."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.isa_runtime.instructions.exact import fma
from tests.isa_runtime.instructions.floats import maximum, maximum_number, minimum, minimum_number
from tests.isa_runtime.instructions.packed import dot_halves
from tests.isa_runtime.instructions.vector import CONSTANT, MASK, Array
from tests.isa_runtime.instructions.wave import LANE, LANES, OUT, A, B, C, executed
from tests.isa_runtime.instructions.words import OLD, VCC, Target, v
from tests.isa_runtime.machine import Machine

F32, U = np.float32, np.uint32
MOVE = 8
RANDOM = np.random.default_rng(8)
FLOATS = RANDOM.normal(size=(2, LANES)).astype(F32)
WORDS = RANDOM.integers(0, 1 << 32, (2, LANES), U)
LITERAL = np.full(LANES, CONSTANT, U).view(F32)
BEFORE = np.full(LANES, OLD, U).view(F32)
"""What the destination holds."""
CHOSEN = (MASK >> (LANE % 32) & 1).astype(bool)
OPERATIONS: dict[int, tuple[str, Callable[[Array, Array], Array]]] = {
    0: ("v_dual_fmac_f32", lambda a, b: fma(a, b, BEFORE)),
    1: ("v_dual_fmaak_f32", lambda a, b: fma(a, b, LITERAL)),
    2: ("v_dual_fmamk_f32", lambda a, b: fma(a, LITERAL, b)),
    3: ("v_dual_mul_f32", np.multiply),
    4: ("v_dual_add_f32", np.add),
    5: ("v_dual_sub_f32", np.subtract),
    6: ("v_dual_subrev_f32", lambda a, b: b - a),
    7: ("v_dual_mul_dx9_zero_f32", lambda a, b: np.where((a == 0) | (b == 0), 0, a * b).astype(F32)),
    MOVE: ("v_dual_mov_b32", lambda a, b: a),
    9: ("v_dual_cndmask_b32", lambda a, b: np.where(CHOSEN, b, a)),
    10: ("v_dual_max_f32", maximum),
    11: ("v_dual_min_f32", minimum),
    12: ("v_dual_dot2acc_f32_f16", lambda a, b: dot_halves(a.view(U), b.view(U), BEFORE)),
    16: ("v_dual_add_nc_u32", lambda a, b: a.view(U) + b.view(U)),
    17: ("v_dual_lshlrev_b32", lambda a, b: b.view(U) << (a.view(U) & 31)),
    18: ("v_dual_and_b32", lambda a, b: a.view(U) & b.view(U)),
}
"""By opcode; those from 16 on are the second operation only."""
ON_RDNA_4 = {10: maximum_number, 11: minimum_number}


def dual(x: int, y: int) -> list[int]:
    """v10 by operation ``x`` of v4 and v6, v11 by ``y`` of v4 and v6, with a move of v8 in the other place."""
    first_of_x, first_of_y = (v(C) if op == MOVE else v(A) for op in (x, y))
    words = [
        0xC8000000 | x << 22 | y << 17 | B << 9 | first_of_x,
        OUT << 24 | (OUT + 1) // 2 << 17 | B << 9 | first_of_y,
    ]
    return [*words, CONSTANT] if {x, y} & {1, 2} else words


@pytest.mark.parametrize("place", ["first", "second"])
@pytest.mark.parametrize("name", ["gfx1100", "gfx1151", "gfx1201"])
def test_each_operation_is_numpys(machine: Machine, name: str, place: str) -> None:
    target = Target(name)
    for opcode, (mnemonic, plain) in OPERATIONS.items():
        if opcode == MOVE or (place == "first" and opcode >= 16):
            continue
        a, b = WORDS.view(F32) if opcode >= 16 else FLOATS
        function = ON_RDNA_4.get(opcode, plain) if target.generation == 12 else plain
        words = [*target.scalar(VCC, MASK), *(dual(opcode, MOVE) if place == "first" else dual(MOVE, opcode))]
        got = executed(machine, target, words, a.view(U), b.view(U), WORDS[0])
        mine, moved = (0, 1) if place == "first" else (1, 0)
        with np.errstate(all="ignore"):
            expected = np.ascontiguousarray(function(a, b)).view(U)
        assert np.array_equal(got[:, mine], expected), mnemonic
        assert np.array_equal(got[:, moved], WORDS[0]), mnemonic
