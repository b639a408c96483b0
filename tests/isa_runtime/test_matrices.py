"""Products of matrices against numpy, their elements laid out as AMD documents them; dot products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.isa_runtime.code import HEAD, TAIL, VECTOR, WAIT, code_object, table
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_launches import NOT_SUPPORTED
from tests.isa_runtime.test_rdna import run as run_rdna
from tests.isa_runtime.test_vector_instructions import LANES, run, same, values

Array = NDArray[Any]
A, B, C = 16, 32, 48
"""The registers of the matrices; 16 are loaded for each, whatever the instruction wants."""
SLOT = 16
"""Words that a lane has in each buffer."""


def moves(target: str) -> tuple[list[int], list[int]]:
    """What loads the 48 registers from s[8:9], s[10:11] and s[12:13], and what stores the last 16 to s[12:13]."""
    loads, stores = [], []
    places = [(16 * part, A + SLOT * n + 4 * part, 8 + 2 * n) for n in range(3) for part in range(4)]
    for offset, register, base in places:
        if target.startswith("gfx9"):
            loads += [0xDC5C8000 | offset, register << 24 | base << 16 | 1]
            stores += [0xDC7C8000 | offset, base << 16 | register << 8 | 1] if base == 12 else []
        elif target == "gfx1100":
            loads += [0xDC5E0000 | offset, register << 24 | base << 16 | 1]
            stores += [0xDC760000 | offset, base << 16 | register << 8 | 1] if base == 12 else []
        else:
            loads += [0xEE05C000 | base, register, offset << 8 | 1]
            stores += [0xEE074000 | base, register << 23, offset << 8 | 1] if base == 12 else []
    return loads, stores


def kernel(target: str, words: list[int]) -> bytes:
    loads, stores = moves(target)
    if target.startswith("gfx9"):
        head, waits, end = [0xC00E0200, 0, 0x24020086, 0xBF8CC07F], [0xBF8C0F70], 0xBF810000
    elif target == "gfx1100":
        head, waits, end = [0xF40C0200, 0xF8000000, 0x30020086, 0xBF89FC07], [0xBF8903F7], 0xBFB00000
    else:
        head, waits, end = [0xF4006200, 0xF8000000, 0x30020086, 0xBFC70000], [0xBFC00000], 0xBFB00000
    wave = 64 if target.startswith("gfx9") else 32
    settled = WAIT if wave == 64 else ()
    all_words = [*head, *loads, *waits, *words, *settled, *stores, end]
    return code_object(all_words, ("global_buffer",) * 4, target=target, wave=wave)


def product(target: str, name: str, neg: int = 0, third: int = VECTOR + C) -> list[int]:
    opcode = table(target)["VOP3P", name]
    second = VECTOR + A | VECTOR + B << 9 | third << 18 | neg << 29
    if target.startswith("gfx9"):
        return [0xD3800000 | opcode << 16 | C, second]
    return [0xCC004000 | opcode << 16 | C, second | 0x18000000]


def packed(rows: Array) -> Array:
    """A row of elements for each lane as its words."""
    words = np.zeros((rows.shape[0], SLOT), np.uint32)
    content = np.ascontiguousarray(rows).view(np.uint32)
    words[:, : content.shape[1]] = content
    return words


def operand(target: str, matrix: Array) -> Array:
    """By lane, what it holds of the rows of ``matrix``: consecutive parts; on RDNA 3 all of the row, twice."""
    side, depth = matrix.shape
    if target == "gfx1100":
        return packed(np.concatenate([matrix, matrix]))
    parts = (64 if target.startswith("gfx9") else 32) // side
    count = depth // parts
    return packed(np.concatenate([matrix[:, count * part : count * (part + 1)] for part in range(parts)]))


def places(target: str, side: int) -> tuple[Array, Array]:
    """Row and column of each lane's elements of the result."""
    wave = 64 if target.startswith("gfx9") else 32
    lane, element = np.mgrid[:wave, : side * side // wave]
    if target == "gfx1100":
        rows = 2 * element + lane // 16
    elif target == "gfx1201":
        rows = 8 * (lane // 16) + element
    elif side == 16:
        rows = 4 * (lane // 16) + element
    else:
        rows = 8 * (element // 4) + 4 * (lane // 32) + element % 4
    return rows, lane % side


def bf16(a: Array) -> Array:
    return (a.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def nibbles_of(a: Array) -> Array:
    """Two numbers from -8 to 7 in a byte, the first below."""
    return (a[:, ::2] & 15 | a[:, 1::2] << 4).astype(np.int8)


def identity(a: Array) -> Array:
    return a


F32, F16, I8, I32 = np.float32, np.float16, np.int8, np.int32
ROWS = [
    ("gfx942", "v_mfma_f32_16x16x16_f16", 16, 16, F16, F32, identity),
    ("gfx942", "v_mfma_f32_32x32x8_f16", 32, 8, F16, F32, identity),
    ("gfx942", "v_mfma_f32_16x16x16_bf16", 16, 16, F32, F32, bf16),
    ("gfx942", "v_mfma_f32_32x32x8_bf16", 32, 8, F32, F32, bf16),
    ("gfx942", "v_mfma_f32_16x16x4_f32", 16, 4, F32, F32, identity),
    ("gfx942", "v_mfma_f32_32x32x2_f32", 32, 2, F32, F32, identity),
    ("gfx942", "v_mfma_i32_16x16x32_i8", 16, 32, I8, I32, identity),
    ("gfx942", "v_mfma_i32_32x32x16_i8", 32, 16, I8, I32, identity),
    ("gfx90a", "v_mfma_f32_16x16x16f16", 16, 16, F16, F32, identity),
    ("gfx90a", "v_mfma_f32_32x32x8f16", 32, 8, F16, F32, identity),
    ("gfx90a", "v_mfma_f32_16x16x16bf16_1k", 16, 16, F32, F32, bf16),
    ("gfx90a", "v_mfma_f32_32x32x8bf16_1k", 32, 8, F32, F32, bf16),
    ("gfx90a", "v_mfma_f32_16x16x4f32", 16, 4, F32, F32, identity),
    ("gfx90a", "v_mfma_f32_32x32x2f32", 32, 2, F32, F32, identity),
    ("gfx90a", "v_mfma_i32_16x16x16i8", 16, 16, I8, I32, identity),
    ("gfx90a", "v_mfma_i32_32x32x8i8", 32, 8, I8, I32, identity),
    ("gfx950", "v_mfma_f32_16x16x32_f16", 16, 32, F16, F32, identity),
    ("gfx950", "v_mfma_f32_32x32x16_f16", 32, 16, F16, F32, identity),
    ("gfx950", "v_mfma_f32_16x16x32_bf16", 16, 32, F32, F32, bf16),
    ("gfx950", "v_mfma_i32_32x32x32_i8", 32, 32, I8, I32, identity),
    ("gfx950", "v_mfma_f32_32x32x16_bf16", 32, 16, F32, F32, bf16),
    ("gfx950", "v_mfma_i32_16x16x64_i8", 16, 64, I8, I32, identity),
    ("gfx1100", "v_wmma_f32_16x16x16_f16", 16, 16, F16, F32, identity),
    ("gfx1100", "v_wmma_f32_16x16x16_bf16", 16, 16, F32, F32, bf16),
    ("gfx1100", "v_wmma_f16_16x16x16_f16", 16, 16, F16, F16, identity),
    ("gfx1100", "v_wmma_i32_16x16x16_iu8", 16, 16, I8, I32, identity),
    ("gfx1100", "v_wmma_i32_16x16x16_iu4", 16, 16, I8, I32, nibbles_of),
    ("gfx1201", "v_wmma_f32_16x16x16_f16", 16, 16, F16, F32, identity),
    ("gfx1201", "v_wmma_f32_16x16x16_bf16", 16, 16, F32, F32, bf16),
    ("gfx1201", "v_wmma_i32_16x16x16_iu8", 16, 16, I8, I32, identity),
]


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, marks=pytest.mark.executes(row[1])) for row in ROWS],
    ids=[f"{row[0]}-{row[1]}" for row in ROWS],
)
def test_a_product_of_matrices_is_numpys(machine: Machine, row: tuple[Any, ...]) -> None:
    target, name, side, depth, kind, result, encode = row
    random = np.random.default_rng(side + depth)
    most = 8 if encode is nibbles_of else 9
    a, b = (random.integers(-most, most, (side, depth)).astype(kind) for _ in range(2))  # b by columns
    c = random.integers(-99, 99, (side, side)).astype(result)
    rows, columns = places(target, side)
    # An f16 result has a register to itself on RDNA 3.
    addends = c[rows, columns] if result != F16 else c[rows, columns].view(np.uint16).astype(np.uint32)
    neg = 3 if "_iu" in name else 0
    given = [operand(target, encode(a)), operand(target, encode(b)), packed(addends)]
    wave = 64 if target.startswith("gfx9") else 32
    failed, message, after = machine.launch(kernel(target, product(target, name, neg)), *given, given[2], block=wave)
    assert failed == 0, message
    exact = a.astype(np.float64) @ b.astype(np.float64).T + c
    got = after[2][:, : rows.shape[1]]
    got = got.astype(np.uint16).view(F16) if result == F16 else got.view(result)
    same(got, exact.astype(result)[rows, columns])


@pytest.mark.parametrize(
    ("name", "encode", "tiny", "scale", "exact"),
    [
        ("v_mfma_f32_16x16x16{}f16", identity, 2**-20, 1024, 2**-6),
        ("v_mfma_f32_16x16x16{}bf16{}", bf16, 2**-130, 2**127, 2),
        ("v_mfma_f32_16x16x16{}f16", identity, 2**-14, 0, 0),
    ],
)
@pytest.mark.parametrize("target", ["gfx90a", "gfx942"])
def test_mi200_alone_flushes_subnormal_operands_and_results(
    machine: Machine, target: str, name: str, encode: Any, tiny: float, scale: float, exact: float
) -> None:
    """Of f16 and bf16; where the products are 0 the addend is subnormal."""
    flushes = target == "gfx90a"
    name = name.format(*("", "_1k") if flushes else ("_", ""))
    kind = F32 if encode is bf16 else F16
    a, b = (np.full((16, 16), value, kind) for value in (tiny, scale))
    c = np.full((64, 4), 0 if exact else 2**-140, F32)
    given = [operand(target, encode(a)), operand(target, encode(b)), packed(c)]
    failed, message, after = machine.launch(kernel(target, product(target, name)), *given, given[2])
    assert failed == 0, message
    expected = exact or 2**-140
    same(after[2][:, :4].view(F32), np.full((64, 4), 0 if flushes else expected, F32))


def test_signs_of_bytes_are_chosen_for_each_matrix(machine: Machine) -> None:
    a, b = np.full((16, 16), -1, I8), np.full((16, 16), 2, I8)
    given = [operand("gfx1100", a), operand("gfx1100", b), np.zeros((32, SLOT), np.uint32)]
    words = product("gfx1100", "v_wmma_i32_16x16x16_iu8", neg=2)  # the first without sign
    failed, message, after = machine.launch(kernel("gfx1100", words), *given, given[2], block=32)
    assert failed == 0, message
    assert (after[2][:, :8] == 16 * 255 * 2).all()


def test_the_addend_may_be_a_constant(machine: Machine) -> None:
    a = np.zeros((16, 16), F16)
    given = [operand("gfx942", a), operand("gfx942", a), np.zeros((64, SLOT), np.uint32)]
    words = product("gfx942", "v_mfma_f32_16x16x16_f16", third=242)  # 1.0
    failed, message, after = machine.launch(kernel("gfx942", words), *given, given[2])
    assert failed == 0, message
    same(after[2][:, :4].view(F32), np.ones((64, 4), F32))


def test_halves_of_a_wave_that_differ_are_not_known(machine: Machine) -> None:
    lanes = np.arange(32 * SLOT, dtype=np.uint32).reshape(32, SLOT)
    words = product("gfx1100", "v_wmma_f32_16x16x16_f16")
    failed, message, _ = machine.launch(kernel("gfx1100", words), lanes, lanes, lanes, lanes, block=32)
    assert (failed, "a matrix whose halves of a wave differ" in message) == (NOT_SUPPORTED, True)


def halves(a: Array, kind: Any) -> Array:
    return a.view(kind).reshape(LANES, -1)


def nibbles(a: Array, with_sign: bool) -> Array:
    found = (a[:, None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15).astype(np.int64)
    return np.where(found > 7, found - 16, found) if with_sign else found


def summed(split: Callable[[Array], Array]) -> Callable[[Array, Array, Array], Array]:
    def dot(a: Array, b: Array, c: Array) -> Array:
        products = split(a).astype(np.int64) * split(b).astype(np.int64)
        return (products.sum(1) + c).astype(np.uint64).astype(np.uint32)

    return dot


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("v_dot4_i32_i8", lambda x: halves(x, np.int8)),
        ("v_dot4_u32_u8", lambda x: halves(x, np.uint8)),
        ("v_dot8_i32_i4", lambda x: nibbles(x, True)),
        ("v_dot8_u32_u4", lambda x: nibbles(x, False)),
        ("v_dot2_i32_i16", lambda x: halves(x, np.int16)),
        ("v_dot2_u32_u16", lambda x: halves(x, np.uint16)),
    ],
)
def test_dot_products_of_integers(machine: Machine, name: str, split: Callable[[Array], Array]) -> None:
    a, b, c = (values(np.uint32, seed) for seed in (1, 2, 3))
    words = [0xD380400A | table()["VOP3P", name] << 16, 0x1C220D04]
    same(run(machine, words, np.uint32, a, b, c), summed(split)(a, b, c))


@pytest.mark.executes("v_dot8_i32_iu4")
def test_nibbles_with_and_without_sign(machine: Machine) -> None:
    a, b, c = (values(np.uint32, seed) for seed in (1, 2, 3))
    words = [0xCC00400A | table("gfx1100")["VOP3P", "v_dot8_i32_iu4"] << 16, 0x3C220D04]  # neg_lo:[1,0,0]
    expected = (nibbles(a, True) * nibbles(b, False)).sum(1) + c
    same(run_rdna(machine, words, np.uint32, a, b, c)[:, 0], expected.astype(np.uint64).astype(np.uint32))


def test_dot_products_of_halves_are_rounded_one_by_one(machine: Machine) -> None:
    random = np.random.default_rng(3)
    pairs = random.normal(size=(2, LANES, 2)).astype(F16)
    a, b = (np.ascontiguousarray(each).view(np.uint32).ravel() for each in pairs)
    c = random.normal(size=LANES).astype(F32)
    wide = pairs.astype(F32)
    expected = (c + wide[0, :, 0] * wide[1, :, 0]) + wide[0, :, 1] * wide[1, :, 1]
    word = 0xD380400A | table()["VOP3P", "v_dot2_f32_f16"] << 16
    same(run(machine, [word, 0x1C220D04], F32, a, b, c), expected)
    got = run(machine, [word | 0x100, 0x1C220D04], F32, a, b, c)  # neg_hi:[1,0,0]
    same(got, (c + wide[0, :, 0] * wide[1, :, 0]) - wide[0, :, 1] * wide[1, :, 1])


def test_dot_products_of_bf16(machine: Machine) -> None:
    pairs = np.random.default_rng(4).integers(-9, 9, (2, LANES, 2)).astype(F32)
    a, b = (np.ascontiguousarray(bf16(each)).view(np.uint32).ravel() for each in pairs)
    c = np.arange(LANES, dtype=F32)
    words = [0xCC00400A | table("gfx1100")["VOP3P", "v_dot2_f32_bf16"] << 16, 0x1C220D04]
    same(run_rdna(machine, words, F32, a, b, c)[:, 0], (pairs[0] * pairs[1]).sum(1) + c)


def test_cdna_1_adds_up_in_accumulation_registers_alone(machine: Machine) -> None:
    """Its MFMA has no bit that says so. 16 products of 1 and 2, and 7, by way of a1 and a2."""
    words = [word for register in range(4) for word in (0xD3D94000 | register, 0x18000087)]  # v_accvgpr_write_b32, 7
    words += [*WAIT, 0xD3D50000, 0x04020D04, *WAIT]  # v_mfma_i32_16x16x16i8 a[0:3], v4, v6, a[0:3]
    words += [0xD3D8400A, 0x18000101, 0xD3D8400B, 0x18000102]  # v_accvgpr_read_b32 v10, a1 and v11, a2
    ones, twos, none = (np.full(LANES, value, np.uint64) for value in (0x01010101, 0x02020202, 0))
    file = code_object([*HEAD, *words, *TAIL], target="gfx908")
    failed, message, after = machine.launch(file, ones, twos, none, none)
    assert failed == 0, message
    assert set(after[3].view(np.uint32).tolist()) == {39}
