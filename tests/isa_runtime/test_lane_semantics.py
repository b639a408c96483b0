"""What lanes give each other, by registers and by LDS, on a target of every generation."""

from __future__ import annotations

import numpy as np
import pytest

from tests.isa_runtime.instructions.wave import LANE, LANES, OUT, A, B, C, Words, executed
from tests.isa_runtime.instructions.words import EXEC, GENERATIONS, LITERAL, OLD, ZERO, Target, v
from tests.isa_runtime.machine import Machine

TARGETS = [Target(names[0]) for names in GENERATIONS.values()]
RANDOM = np.random.default_rng(5).integers(0, 1 << 32, (3, LANES), np.uint32)
FIRST, SECOND, THIRD = RANDOM
on_every_generation = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


def only(target: Target, mask: int) -> list[int]:
    return [*target.sop1("s_mov_b32", EXEC, LITERAL, mask), *target.sop1("s_mov_b32", EXEC + 1, ZERO)]


def of_wave(target: Target, lane: int) -> np.ndarray:
    """The number of a lane in its wave as that of the block, for every lane."""
    return LANE // target.wave * target.wave + lane


@on_every_generation
@pytest.mark.executes("v_readfirstlane_b32")
def test_the_first_active_lane_is_read(machine: Machine, target: Target) -> None:
    words = [*only(target, 0x70), *target.vop1("v_readfirstlane_b32", 20, v(A)), *target.everybody()]
    got = executed(machine, target, [*words, *target.settle(), *target.vector(OUT, 20)], FIRST)
    assert np.array_equal(got[:, 0], FIRST[of_wave(target, 4)])


@on_every_generation
@pytest.mark.executes("v_readlane_b32")
def test_a_lane_is_read_whether_it_is_active_or_not(machine: Machine, target: Target) -> None:
    """Its number counts modulo the size of a wave."""
    number = 7 + 3 * target.wave
    words = [*target.scalar(21, number), *only(target, 1), *target.settle()]
    words += [*target.vop3("v_readlane_b32", v(A), 21, out=20), *target.everybody(), *target.settle()]
    got = executed(machine, target, [*words, *target.vector(OUT, 20)], FIRST)
    assert np.array_equal(got[:, 0], FIRST[of_wave(target, 7)])


@on_every_generation
@pytest.mark.executes("v_writelane_b32")
def test_a_lane_is_written_whether_it_is_active_or_not(machine: Machine, target: Target) -> None:
    words = [*target.scalar(20, 0x1234567), *target.scalar(21, 9 + target.wave), *only(target, 1), *target.settle()]
    words += [*target.vop3("v_writelane_b32", 20, 21), *target.everybody()]
    got = executed(machine, target, words)
    assert np.array_equal(got[:, 0], np.where(LANE % target.wave == 9, 0x1234567, OLD))


@on_every_generation
@pytest.mark.executes("v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32")
def test_bits_below_a_lane_are_counted(machine: Machine, target: Target) -> None:
    """Of the lower and the upper half of a mask, which waves of 32 have not."""
    words = target.vop3("v_mbcnt_lo_u32_b32", v(A), v(B))
    words += target.vop3("v_mbcnt_hi_u32_b32", v(A), v(B), out=OUT + 1)
    got = executed(machine, target, words, FIRST, SECOND)
    lane = LANE % target.wave
    below = [(1 << n) - 1 for n in lane.tolist()]
    low = [bin(int(a) & mask & 0xFFFFFFFF).count("1") for a, mask in zip(FIRST, below, strict=True)]
    high = [bin(int(a) & mask >> 32).count("1") for a, mask in zip(FIRST, below, strict=True)]
    assert np.array_equal(got[:, 0], np.array(low, np.uint32) + SECOND)
    assert np.array_equal(got[:, 1], np.array(high, np.uint32) + SECOND)


@on_every_generation
@pytest.mark.executes("ds_bpermute_b32")
def test_a_lane_asks_another(machine: Machine, target: Target) -> None:
    """By four times its number, modulo the size of a wave; one that is not active gives 0."""
    asked = np.random.default_rng(1).integers(0, 256, LANES)
    words = [*only(target, 0xFFFFFFF0), *target.lds("ds_bpermute_b32", to=OUT, address=A, data=(B,), offset=4)]
    got = executed(machine, target, [*words, *target.wait(), *target.everybody()], 4 * asked.astype(np.uint32), SECOND)
    lane = (asked + 1) % target.wave
    source = LANE // target.wave * target.wave + lane
    active = (LANE % target.wave >= 4) & (LANE % target.wave < 32)
    found = np.where((lane >= 4) & (lane < 32), SECOND[source], 0)
    assert np.array_equal(got[:, 0], np.where(active, found, OLD))


@on_every_generation
@pytest.mark.executes("ds_permute_b32")
def test_a_lane_gives_to_another(machine: Machine, target: Target) -> None:
    """Of two that give to one the last wins; who is given nothing has 0."""
    given = np.where(LANE % 8 == 1, 0, 3 * LANE % target.wave)
    words = target.lds("ds_permute_b32", to=OUT, address=A, data=(B,))
    got = executed(machine, target, [*words, *target.wait()], 4 * given.astype(np.uint32), SECOND)
    expected = np.zeros(LANES, np.uint32)
    for lane in LANE:
        expected[lane // target.wave * target.wave + given[lane]] = SECOND[lane]
    assert np.array_equal(got[:, 0], expected)


@on_every_generation
@pytest.mark.executes("ds_swizzle_b32", "ds_nop")
def test_lanes_are_swizzled(machine: Machine, target: Target) -> None:
    """Within fours as two bits for each say; within 32 as masks of and, or, xor say."""
    controls = {0x8000 | 0b00_11_10_01: (LANE & ~3) + np.array([1, 2, 3, 0])[LANE & 3]}
    controls |= {mask: (LANE & 32) | (LANE & 31 & mask & 31 | mask >> 5 & 31) ^ mask >> 10 for mask in (0x1C1F, 0x2A35)}
    for control, source in controls.items():
        words = [*target.lds("ds_nop"), *target.lds("ds_swizzle_b32", to=OUT, address=A, offset=control)]
        got = executed(machine, target, [*words, *target.wait()], FIRST)
        assert np.array_equal(got[:, 0], FIRST[source]), hex(control)


TWO_PLACES = [
    pytest.param(size, stride, marks=pytest.mark.executes(*names))
    for size, stride, names in (
        (1, 4, ("ds_read2_b32", "ds_load_2addr_b32", "ds_write2_b32", "ds_store_2addr_b32")),
        (2, 8, ("ds_read2_b64", "ds_load_2addr_b64", "ds_write2_b64", "ds_store_2addr_b64")),
        (
            1,
            256,
            ("ds_read2st64_b32", "ds_load_2addr_stride64_b32", "ds_write2st64_b32", "ds_store_2addr_stride64_b32"),
        ),
        (
            2,
            512,
            ("ds_read2st64_b64", "ds_load_2addr_stride64_b64", "ds_write2st64_b64", "ds_store_2addr_stride64_b64"),
        ),
    )
]


@pytest.mark.parametrize(("size", "stride"), TWO_PLACES)
def test_two_places_are_read_and_written(machine: Machine, size: int, stride: int) -> None:
    """At the offsets 1 and 3, in units of the instruction's: also as loads of one word see it."""
    for target in TARGETS:
        new, far = target.generation > 10, stride > 8
        ending = f"{'_stride64' if far else ''}_b{32 * size}" if new else f"{'st64' if far else ''}_b{32 * size}"
        read, write = (
            (f"ds_load_2addr{ending}", f"ds_store_2addr{ending}")
            if new
            else (f"ds_read2{ending}", f"ds_write2{ending}")
        )
        words = [*target.vector(A + 1, v(C)), *target.vector(B + 1, v(C))]
        words += target.shifted(12, (1 if far else 3) + size, 0)  # the lanes' places do not overlap
        words += [*target.lds(write, address=12, data=(A, B), offset=3 << 8 | 1), *target.wait()]
        both = [*words, *target.lds(read, to=OUT, address=12, offset=3 << 8 | 1)]
        got = executed(machine, target, both, *RANDOM, lds=4096)
        expected = [FIRST, THIRD, SECOND, THIRD] if size == 2 else [FIRST, SECOND]
        assert np.array_equal(got[:, : 2 * size], np.stack(expected, axis=1)), target.name
        one = "ds_load_b32" if new else "ds_read_b32"
        for place in range(2):
            words += target.lds(one, to=OUT + place, address=12, offset=(1, 3)[place] * stride)
        got = executed(machine, target, words, *RANDOM, lds=4096)
        assert np.array_equal(got[:, :2], np.stack([FIRST, SECOND], axis=1)), target.name


EXCHANGES = [
    pytest.param(size, stride, marks=pytest.mark.executes(*(f"ds_{name}_rtn_b{32 * size}" for name in names)))
    for size, stride, names in (
        (1, 4, ("wrxchg2", "storexchg_2addr")),
        (2, 8, ("wrxchg2", "storexchg_2addr")),
        (1, 256, ("wrxchg2st64", "storexchg_2addr_stride64")),
        (2, 512, ("wrxchg2st64", "storexchg_2addr_stride64")),
    )
]


@pytest.mark.parametrize(("size", "stride"), EXCHANGES)
def test_two_places_are_exchanged(machine: Machine, size: int, stride: int) -> None:
    """What was there is returned: the second exchange has what the first left."""
    for target in TARGETS:
        new, far = target.generation > 10, "_stride64" if stride > 8 else ""
        name = f"storexchg_2addr{far}" if new else f"wrxchg2{far.replace('_stride', 'st')}"
        words = [*target.vector(A + 1, v(C)), *target.vector(B + 1, v(C))]
        words += target.shifted(12 + 2, (1 if far else 3) + size, 0)
        for to in (20, OUT):
            words += target.lds(f"ds_{name}_rtn_b{32 * size}", to=to, address=14, data=(A, B), offset=3 << 8 | 1)
            words += target.wait()
        got = executed(machine, target, words, *RANDOM, lds=4096)
        expected = [FIRST, THIRD, SECOND, THIRD] if size == 2 else [FIRST, SECOND]
        assert np.array_equal(got[:, : 2 * size], np.stack(expected, axis=1)), target.name


@on_every_generation
def test_an_address_of_lds_is_a_sum_of_32_bits(machine: Machine, target: Target) -> None:
    """LLVM gives bases that are negative a constant that makes them positive."""
    new = target.generation > 10
    words = [*target.shifted(12, 2, 0), *target.add(12, -8 & 0xFFFFFFFF)]
    words += [*target.lds("ds_store_b32" if new else "ds_write_b32", address=12, data=(A,), offset=8), *target.wait()]
    words += [*target.lds("ds_load_b32" if new else "ds_read_b32", to=OUT, address=12, offset=8), *target.wait()]
    pair = "ds_load_2addr_b32" if new else "ds_read2_b32"
    words += target.lds(pair, to=OUT + 2, address=12, offset=3 << 8 | 2)
    got = executed(machine, target, words, FIRST, lds=4 * LANES + 4)
    assert np.array_equal(got[:, 0], FIRST)
    assert np.array_equal(got[:, 2], FIRST)


@on_every_generation
@pytest.mark.executes("v_swap_b32")
def test_registers_are_exchanged_in_active_lanes(machine: Machine, target: Target) -> None:
    words = [*only(target, 0x70), *target.vop1("v_swap_b32", A, v(B)), *target.everybody(), *target.settle()]
    words += [*target.vector(OUT, v(A)), *target.vector(OUT + 1, v(B))]
    got = executed(machine, target, words, FIRST, SECOND)
    active = (LANE % target.wave >= 4) & (LANE % target.wave < 7)
    assert np.array_equal(got[:, 0], np.where(active, SECOND, FIRST))
    assert np.array_equal(got[:, 1], np.where(active, FIRST, SECOND))


@pytest.mark.executes("v_permlane64_b32")
@pytest.mark.parametrize("wave", [32, 64])
def test_halves_of_a_wave_are_exchanged(machine: Machine, wave: int) -> None:
    """Nothing happens in a wave of 32."""
    target = Target("gfx1100")
    got = executed(machine, target, target.vop1("v_permlane64_b32", OUT, v(A)), FIRST, wave=wave)
    assert np.array_equal(got[:, 0], FIRST[LANE ^ 32] if wave == 64 else np.full(LANES, OLD))


MOVES = {"v_movrels_b32": (OUT, A), "v_movreld_b32": (OUT - 2, A), "v_movrelsd_b32": (OUT - 2, A)}
"""To a register, from a register, with M0 as 2."""


@pytest.mark.executes(*MOVES)
@pytest.mark.parametrize("name", ["gfx1030", "gfx1100", "gfx1201"])
def test_a_move_is_to_or_from_registers_that_m0_counts(machine: Machine, name: str) -> None:
    target = Target(name)
    m0 = 125 if target.generation > 10 else 124
    for move, (to, source) in MOVES.items():
        words = [*target.sop1("s_mov_b32", m0, ZERO + 2), *target.vop1(move, to, v(source))]
        got = executed(machine, target, words, FIRST, SECOND)
        assert np.array_equal(got[:, 0], FIRST if move == "v_movreld_b32" else SECOND), move


@pytest.mark.executes("s_set_gpr_idx_on", "s_set_gpr_idx_off")
@pytest.mark.parametrize("which", [1, 8, 9])
def test_moves_between_on_and_off_count_from_a_register_on(machine: Machine, which: int) -> None:
    """Bit 0 is for the source, bit 3 for the destination; the index is 2."""
    target = Target("gfx942")
    words = [*target.scalar(20, 2), *target.sopc("s_set_gpr_idx_on", 20, which)]
    words += [*target.vector(OUT - 2 if which & 8 else OUT, v(A)), *target.sopp("s_set_gpr_idx_off")]
    got = executed(machine, target, words, FIRST, SECOND)
    assert np.array_equal(got[:, 0], SECOND if which & 1 else FIRST)


SCALAR_MOVES = {
    "s_movrels_b32": (20, 30),
    "s_movrels_b64": (20, 30),
    "s_movreld_b32": (18, 32),
    "s_movreld_b64": (18, 32),
}


@on_every_generation
@pytest.mark.executes(*SCALAR_MOVES)
def test_scalars_are_moved_to_or_from_registers_that_m0_counts(machine: Machine, target: Target) -> None:
    m0 = 125 if target.generation > 10 else 124
    for name, (to, source) in SCALAR_MOVES.items():
        words = [*target.sop1("s_mov_b32", m0, ZERO + 2)]
        for register in (20, 21, 32, 33):
            words += target.scalar(register, register)
        words += [*target.sop1(name, to, source), *target.vector(OUT, 20), *target.vector(OUT + 1, 21)]
        got = executed(machine, target, words)
        assert (got[:, :2] == [32, 33 if name.endswith("64") else 21]).all(), name


def words_of(array: Words) -> Words:
    return np.ascontiguousarray(array).view(np.uint32)


@pytest.mark.executes("v_div_scale_f32")
@on_every_generation
def test_operands_of_a_division_are_scaled(machine: Machine, target: Target) -> None:
    """Where a step would over- or underflow; VCC says that the quotient has to be scaled back."""
    up, down = 2.0**64, 2.0**-64
    rows = [  # numerator, denominator; the scales of both, and whether the quotient is scaled
        (1.0, 3.0, 1, 1, 0),
        (2.0**100, 2.0**-10, 1, up, 1),
        (1.0, 2.0**-130, 1, up, 1),
        (2.0**-100, 2.0**-130, up, up, 0),
        (1.0, 1.5 * 2.0**127, 1, down, 1),
        (2.0**100, 1.5 * 2.0**127, down, down, 0),
        (2.0**-20, 2.0**127, 1, down, 1),
        (2.0**-100, 2.0**30, up, 1, 1),
        (2.0**-110, 1.0, up, up, 0),
        (0.0, 1.0, np.nan, np.nan, 0),
        (1.0, 0.0, np.nan, np.nan, 0),
    ]
    padded = [*rows, *[rows[0]] * (LANES - len(rows))]
    n, d, of_n, of_d, fixed = (np.array(column) for column in zip(*padded, strict=True))
    words = target.vop3("v_div_scale_f32", v(A), v(B), v(A), modifiers=20)  # of the numerator
    words += target.vop3("v_div_scale_f32", v(B), v(B), v(A), out=OUT + 1, modifiers=22)
    words += [*target.settle(), *target.flag(OUT + 2, 20), *target.flag(OUT + 3, 22)]
    got = executed(machine, target, words, *(words_of(x.astype(np.float32)) for x in (n, d)))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got[:, 0].view(np.float32), (n * of_n).astype(np.float32))
        np.testing.assert_array_equal(got[:, 1].view(np.float32), (d * of_d).astype(np.float32))
    assert np.array_equal(got[:, 2], fixed)
    assert np.array_equal(got[:, 3], fixed)
