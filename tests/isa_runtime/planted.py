"""Mistakes that AMD's machine code alone can have, and what is said of each: planted kernels, and edits of ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from shutil import copy

from tests.kernels.mutants import Edit, Mutant, plant_one

FOLDER = Path(__file__).with_name("planted")
CDNA, RDNA = "gfx942", "gfx1100"
OPTIONS = {CDNA: (), RDNA: ("--perturb", "1")}
"""Options of the run for each target: approximate instructions deviate in one of them."""
SOURCES = {CDNA: ("common.h", "any.hip", "cdna.hip"), RDNA: ("common.h", "any.hip", "rdna.hip")}


@dataclass(frozen=True)
class Planted:
    """``case`` of a kernel compiled for ``arch``: its status, words of what is said of it, and the cause that is named.

    The kernel is one of ``planted``, or, with ``edit`` of a file of ours, the one that ``keep`` instantiates of
    ``module``.
    """

    what: str
    arch: str
    case: str
    status: str
    said: str
    cause: str | None
    edit: Edit | None = None
    module: str = ""
    keep: str = ""

    @property
    def kernel(self) -> str:
        return self.case.partition("(")[0]


_UNKNOWN = "not recognised"


def _memory(what: str, case: str, old: str, new: str, cause: str) -> Iterable[Planted]:
    """A fault on both targets, whose message names the instruction as each spells it."""
    return (
        Planted(what, CDNA, case, "crash", old, cause),
        Planted(what, RDNA, case, "crash", new, cause),
    )


def _lanes(what: str, case: str, cause: str, said: str = "elements wrong") -> Iterable[Planted]:
    return (Planted(what, arch, case, "fail", said, cause) for arch in (CDNA, RDNA))


PLANTED: tuple[Planted, ...] = (
    *_memory(
        "no wait for a load",
        "uneg_f32(shape=[257],values=unit)",
        "v_xor_b32 before s_waitcnt vmcnt(0) for the global_load_dword at",
        "v_xor_b32 before s_waitcnt vmcnt(0) for the global_load_b32 at",
        "missing-wait",
    ),
    *_memory(
        "a wait for the first of two loads",
        "uabs_f32(shape=[257],values=unit)",
        "v_and_b32 before s_waitcnt vmcnt(0) for the global_load_dword at",
        "v_and_b32 before s_waitcnt vmcnt(0) for the global_load_b32 at",
        "missing-wait",
    ),
    *_memory(
        "no wait for shared memory",
        "uceil_f32(shape=[257],values=unit)",
        "v_ceil_f32 before s_waitcnt lgkmcnt(0) for the ds_read_b32 at",
        "v_ceil_f32 before s_waitcnt lgkmcnt(0) for the ds_load_b32 at",
        "missing-wait",
    ),
    *_memory(
        "the offset of a load",
        "ucopy_i64(shape=[64],values=unit)",
        "global_load_dwordx2 of 8 bytes 0 bytes past the end of the 512-byte allocation of argument 3",
        "global_load_b64 of 8 bytes 0 bytes past the end of the 512-byte allocation of argument 3",
        "read-outside",
    ),
    *_memory(
        "shared memory beyond its size",
        "ufloor_f32(shape=[257],values=unit)",
        "of 4 bytes at offset 512 of the block's 512 bytes of shared memory",
        "of 4 bytes at offset 512 of the block's 512 bytes of shared memory",
        "geometry-fault",
    ),
    *_memory(
        "dynamic shared memory that is not launched",
        "uround_f32(shape=[64],values=unit)",
        "of 4 bytes at offset 0 of the block's 0 bytes of shared memory",
        "of 4 bytes at offset 0 of the block's 0 bytes of shared memory",
        "shared-memory",
    ),
    *_memory(
        "scratch memory beyond its size",
        "usqr_f32(shape=[64],values=unit)",
        "bytes of scratch memory",
        "bytes of scratch memory",
        "local-array",
    ),
    *_memory(
        "arguments of another kernel",
        "fill_f32(shape=[257],value=pattern)",
        "s_load_dword of 4 bytes at offset 4096 of the kernel's",
        "s_load_b32 of 4 bytes at offset 4096 of the kernel's",
        "arguments",
    ),
    *_lanes("info in 32-bit words", "uceil_f64(shape=[17,19],layout=transposed,values=unit)", "narrow-info"),
    *_lanes("arguments without padding", "fill_u32(shape=[257],value=pattern)", "nothing-written"),
    *_lanes("lanes of ds_bpermute not in bytes", "ucopy_f32(shape=[64],values=unit)", "other-lane"),
    *_lanes("readfirstlane of what differs", "uneg_f64(shape=[64],values=unit)", "other-lane"),
    *_lanes("an atomic without return", "ucopy_f64(shape=[64],values=unit)", "unwritten"),
    # On CDNA 2 and 3 the load leaves 0 in the high half, as of registers with error correction.
    Planted(
        "the high half of a loaded short", RDNA, "urelu_f16(shape=[64],values=unit)", "fail", "elements wrong", _UNKNOWN
    ),
    *_lanes("no wait for a store before a barrier", "utanh_f32(shape=[257],values=unit)", "late-stores"),
    Planted("a bare reciprocal", CDNA, "urecip_f64(shape=[64],values=unit)", "fail", "ulp off", "approximate"),
    Planted("a bare root", CDNA, "usqrt_f64(shape=[64],values=unit)", "fail", "ulp off", "approximate"),
    Planted(
        "a DPP operand too soon",
        CDNA,
        "fill_i64(shape=[257],value=pattern)",
        "crash",
        "v_mov_b32 comes 1 wait state after the v_mov_b32 at tree/cdna.hip:",
        "hazard",
    ),
    *(
        Planted(f"{what} that nothing has written", CDNA, case, "fail", f"; the answer depends on {what} that", cause)
        for what, case, cause in (
            ("shared memory", "usqr_f64(shape=[64],values=unit)", "unwritten-shared"),
            ("scratch memory", "ufloor_f64(shape=[64],values=unit)", "unwritten-scratch"),
            ("registers", "uabs_f64(shape=[64],values=unit)", "unwritten-registers"),
        )
    ),
    Planted(
        "launch bounds below Candle's block",
        CDNA,
        "fill_u8(shape=[257],value=pattern)",
        "crash",
        "its code object allows blocks of at most 64 threads (max_flat_workgroup_size), Candle launches 1024",
        "launch-refused",
    ),
    Planted("a lock between lanes", CDNA, "uround_f64", "timeout", "given up after 2 time-outs", "endless"),
    Planted("mbcnt_lo alone", CDNA, "ucopy_u32(shape=[64],values=unit)", "fail", "31 of 73", "upper-lanes"),
    Planted("a ballot of 32 bits", CDNA, "ucopy_u8(shape=[64],values=unit)", "fail", "31 of 73", "upper-lanes"),
    Planted("exec not restored", CDNA, "urelu_f32(shape=[257],values=unit)", "fail", "elements wrong", "unwritten"),
    Planted("a reduction of 32 lanes", CDNA, "fast_min_f32(shape=[3,64],values=unit)", "fail", "dst[", "part-of-row"),
    Planted("the wrong last lane", CDNA, "fast_max_f32(shape=[3,64],values=unit)", "fail", "dst[", "part-of-row"),
    Planted("bound_ctrl", CDNA, "fast_min_u32(shape=[3,31],values=wide)", "fail", "must be equal", "start-value"),
    Planted("row_mask", CDNA, "fast_sum_u32(shape=[3,64],values=unit)", "fail", "3 of 12", _UNKNOWN),
    Planted("no barrier between waves", CDNA, "fast_max_u32(shape=[3,257],values=unit)", "fail", "3 of 12", "race"),
    Planted(
        "an approximate quotient",
        CDNA,
        "urecip_f32(shape=[984],values=special)",
        "fail",
        "34 of 993 elements wrong",
        _UNKNOWN,
    ),
    Planted("halves cut off", CDNA, "cast_f32_f16(shape=[257],values=unit)", "fail", "1 ulp off", "truncates"),
    Planted(
        "a float mode that flushes",
        CDNA,
        "usqr_f16(shape=[64],values=unit)",
        "not_run",
        "does not know a change of the float mode (s_setreg_imm32_b32)",
        None,
    ),
    Planted("an approximate root", RDNA, "usqrt_f32(shape=[64],values=unit)", "fail", "1 ulp off", "one-rounding"),
    Planted("permlanex16", RDNA, "uneg_f16(shape=[64],values=unit)", "fail", "8 of 73", "other-lane"),
    Planted("the high half of a sum", RDNA, "ucopy_u8(shape=[64],values=unit)", "fail", "64 of 73", _UNKNOWN),
    Planted(
        "DPP's control",
        CDNA,
        "softmax_f32(shape=[3,31],values=unit)",
        "fail",
        "ulp off",
        _UNKNOWN,
        ("target_amd.h", "int(x), 0xb1,", "int(x), 0x4e,"),
        "reduce",
        "SOFTMAX(f32)",
    ),
    Planted(
        "a shift of a row for its rotation",
        CDNA,
        "softmax_bf16(shape=[3,31],values=unit)",
        "fail",
        "ulp off",
        _UNKNOWN,
        ("target_amd.h", "int(x), 0x128,", "int(x), 0x118,"),
        "reduce",
        "SOFTMAX(bf16)",
    ),
    Planted(
        "the lanes of ds_swizzle",
        CDNA,
        "softmax_f64(shape=[3,32],values=unit)",
        "fail",
        "ulp off",
        _UNKNOWN,
        ("target_amd.h", "mask << 10 | 0x1f", "mask << 10 | 0x0f"),
        "reduce",
        "SOFTMAX(f64)",
    ),
    Planted(
        "bytes without sign",
        RDNA,
        "mul_mat_vec_q4_0_q8_1_cuda1(ncols=512,nrows=7,values=random)",
        "fail",
        "dst[",
        _UNKNOWN,
        ("target_amd.h", "sudot4(true, i32(a), true,", "sudot4(true, i32(a), false,"),
        "quantized",
        "MMVQ(Q4_0, q4_0, 1)",
    ),
)


CAUSES = frozenset(
    (
        *("missing-wait", "hazard", "arguments", "launch-refused", "approximate", "late-stores"),
        *("unwritten-shared", "unwritten-scratch", "unwritten-registers"),
    )
)
"""Causes that machine code alone has or shows: with MENDED defined their kernels do what the advice says."""


def rows(arch: str, mended: bool = False) -> list[Planted]:
    return [row for row in PLANTED if row.arch == arch and (row.cause in CAUSES or not mended)]


def plant(folder: Path, arch: str) -> Path:
    """A tree in ``folder`` with every mistake for ``arch``."""
    folder.mkdir()
    for name in SOURCES[arch]:
        copy(FOLDER / name, folder / name)
    for number, row in enumerate(rows(arch)):
        if row.edit is not None:
            plant_one(Mutant(row.what, row.module, row.keep, (row.edit,), ()), folder / f"{number:02}")
    return folder
