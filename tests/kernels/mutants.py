"""Mistakes that no case saw once, each in a few lines of our own kernels or of one like Candle's, and what sees it now.

A mutant has kernels that no other mutant has, so that all of them are one tree and one run.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
CANDLE_LIKE = Path(__file__).with_name("candle_like.hip")

Edit = tuple[str, str, str]
"""A file, a text that it has once, and what takes its place."""


@dataclass(frozen=True)
class Mutant:
    """``keep`` instantiates the kernels of ``module`` that the mutant defines; each of ``cases`` has to fail."""

    what: str
    module: str
    keep: str
    edits: tuple[Edit, ...]
    cases: tuple[str, ...]


def _mutant(what: str, module: str, keep: str, edit: Edit, *cases: str) -> Mutant:
    return Mutant(what, module, keep, (edit,), cases)


_COMPARED = "(info[(k + 1) * num_dims + d] != expected)"
_CONTIGUITY: Edit = ("strided.h", "      if " + _COMPARED, "      if (size > 2 && " + _COMPARED[1:])
_SHORT_ROWS = "threads * width) {\n      for (int j = 0; j < width && col < 32768; ++j) f("
_PACKS = "for (size_t p = grid.first(); p < packs; p += grid.step()) map_pack<width>(p, op, out, in...);"
_ROUND = "      addend.add_to(out);\n    }\n    __syncthreads();\n  }\n}"

_STEPS = "for (unsigned i = first; i < numel; i += step)"
_LEFT = " out[i] = lhs[place(i, num_dims, dims, lhs_strides)] + rhs[i];"
_RIGHT = " out[i] = lhs[i] + rhs[place(i, num_dims, dims, rhs_strides)];"

MUTANTS: tuple[Mutant, ...] = (
    _mutant(
        "a thread without elements keeps its index",
        "reduce",
        "FAST(argmax, u8, u32, ArgMax<u8>) FAST(argmin, i64, u32, ArgMin<i64>)",
        (
            "reduction.h",
            "(best.index == State::none) | better(comparable(x), best.value)",
            "better(comparable(x), best.value)",
        ),
        "fast_argmax_u8(shape=[3,70],values=unit,mark=lowest)",
        "fast_argmin_i64(shape=[3,70],values=unit,mark=greatest)",
    ),
    _mutant(
        "an integer rounded to f32 first",
        "cast",
        "CAST(u32, bf16)",
        ("convert.h", "narrow<To>(to_f32_sticky(x))", "narrow<To>(f32(x))"),
        "cast_u32_bf16(shape=[4,14],values=twice)",
    ),
    _mutant(
        "NaN rounded as a number",
        "cast",
        "CAST(f64, bf16)",
        ("portable.h", "  if (x != x) return 0x7fff;\n  return u16(", "  return u16("),
        "cast_f64_bf16(shape=[26],values=nans)",
    ),
    _mutant(
        "no barrier at the end of a loop",
        "reduce",
        "SUM(bf16)",
        ("reduce.hip", _ROUND, _ROUND.replace("    __syncthreads();\n  }\n}", "  }\n}")),
        "sum_bf16(shape=[9,100],sum=[1],values=ties,block=96,grid=2)",
    ),
    _mutant(
        "packs without a loop",
        "ternary",
        "WHERE(u8, bf16)",
        ("contiguous.h", _PACKS, "if (size_t p = grid.first(); p < packs) map_pack<width>(p, op, out, in...);"),
        "where_u8_bf16(shape=[2500],values=unit,block=64,grid=1)",
    ),
    _mutant(
        "constants stored in packs without a loop",
        "fill",
        "CONST_SET(f32)",
        (
            "fill.hip",
            "for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += step) out[i] = value;",
            "for (size_t k = 0, i = blockIdx.x * blockDim.x + threadIdx.x; k < 4 && i < numel; ++k, i += step) "
            "out[i] = value;",
        ),
        "const_set_f32(shape=[2500],value=pattern,block=64,grid=1)",
    ),
    _mutant(
        "indices selected in packs without a loop",
        "indexing",
        "INDEX_SELECT(i64, f32)",
        ("gather.h", "      if (numel - i <= step) break;", "      break;"),
        "is_i64_f32(shape=[2,13,48],count=24,ids=mixed,values=wide,block=64,grid=1)",
    ),
    _mutant(
        "compare-and-swap without a retry",
        "reduce",
        "SUM(f16)",
        ("atomic_add.h", "if (observed == expected) return;", "return;"),
        "sum_f16(shape=[40,5],sum=[0],values=unit)",
    ),
    _mutant(
        "an addition that is not atomic",
        "reduce",
        "SUM(f32)",
        ("atomic_add.h", "atomic_add(f32 *p, f32 x) { atomicAdd(p, x); }", "atomic_add(f32 *p, f32 x) { *p += x; }"),
        "sum_f32(shape=[17,19],sum=[0],layout=transposed,values=ties)",
        "sum_f32(shape=[3,7,11],sum=[1],values=ties)",
    ),
    _mutant(
        "a place of 16 bits in a row",
        "reduce",
        "FAST(argmax, f32, u32, ArgMax<f32>) FAST(argmin, f32, u32, ArgMin<f32>)",
        ("reduction.h", "is_better ? index : best.index}", "is_better ? u16(index) : best.index}"),
        "fast_argmax_f32(shape=[1,70000],values=unit,mark=ends)",
        "fast_argmin_f32(shape=[1,70000],values=unit,mark=ends)",
    ),
    _mutant(
        "columns behind a limit on them, in a softmax",
        "reduce",
        "SOFTMAX(f16)",
        ("softmax.h", "strips = n_cols / S", "strips = (n_cols < 32768 ? n_cols : 32768) / S"),
        "softmax_f16(shape=[1,70000],values=unit)",
    ),
    _mutant(
        "columns behind a limit on them, in norms",
        "reduce",
        "NORMS(f32)",
        ("norms.h", "threads * width) {\n#pragma unroll\n      for (int j = 0; j < width; ++j) f(", _SHORT_ROWS),
        "rmsnorm_f32(shape=[1,40000],values=unit)",
        "layernorm_f32(shape=[1,40000],values=unit)",
    ),
    _mutant(
        "a table of 128 pairs",
        "reduce",
        "ROPES(f32)",
        ("rope.h", "% t * half + column +", "% t * half + column % 128 +"),
        "rope_thd_f32(shape=[1,2,3,512],values=unit)",
    ),
    _mutant(
        "ids behind a limit on them",
        "indexing",
        "INDEX_ADD(u32, f16)",
        ("scatter.h", "j < src_dim; j += batch", "j < src_dim && j < 4096; j += batch"),
        "ia_u32_f16(shape=[1,60,2],count=4600,ids=ordered,values=unit)",
    ),
    _mutant(
        "channels behind a limit on them",
        "conv",
        "CONV1D(f32)",
        ("convolution.h", "c < conv.channels; ++c", "c < conv.channels && c < 1024; ++c"),
        "conv1d_f32(shape=[1,1100,4],cout=2,k=[3],values=unit)",
    ),
    _mutant(
        "weights behind a limit on them",
        "quantized",
        "DMMV(Q8_0, q8_0, 1)",
        ("quantized/dmmv.h", "blocks = ncols / 32;", "blocks = ncols < 16384 ? ncols / 32 : 512;"),
        "dequantize_mul_mat_vec_q8_0_cuda(ncols=16640,nrows=1,values=random)",
    ),
    _mutant(
        "8 bits of an expert",
        "quantized",
        "MOE(Q4_K, q4k)",
        ("quantized/mmvq.h", "(weights) + experts[task] * stride", "(weights) + u8(experts[task]) * stride"),
        "indexed_moe_forward_q4k_q8_1(n=1,k=256,batch=1,topk=64,experts=300,values=random)",
    ),
    _mutant(
        "16 bits of a word of the vocabulary",
        "quantized",
        "GET_ROWS(Q4_0, q4_0)",
        (
            "quantized/dequantize.h",
            "(src0) + i64(i32(ids[blockIdx.x])) * i64",
            "(src0) + i64(u16(ids[blockIdx.x])) * i64",
        ),
        "get_rows_q4_0(hidden=32,rows=66000,ids=[65999,1,65536],values=random)",
    ),
    _mutant(
        "a row too many in the last block",
        "quantized",
        "MMVQ(Q4_0, q4_0, 2)",
        ("quantized/mmvq.h", "if (lane == i && row0 + i < nrows)", "if (lane == i)"),
        "mul_mat_vec_q4_0_q8_1_cuda2(ncols=256,nrows=33,values=random)",
    ),
    _mutant(
        "a size of 2 taken for one of 1",
        "ternary",
        "WHERE(u8, i64)",
        _CONTIGUITY,
        "where_u8_i64(shape=[4,2,6],ids=broadcast_middle,values=unit)",
        "where_u8_i64(shape=[5,4,2],t=broadcast_last,values=unit)",
    ),
    _mutant(
        "two ids taken for one",
        "indexing",
        "INDEX_SELECT(u32, f32)",
        _CONTIGUITY,
        "is_u32_f32(shape=[3,5,4],count=2,layout=stepped,ids=plain,values=wide)",
    ),
    _mutant(
        "16 bits of the place in a tiled output",
        "cast",
        "CAST(f32, f64)",
        ("elementwise.h", "struct Tile {\n  size_t out;", "struct Tile {\n  u16 out;"),
        "cast_f32_f64(shape=[257,257],layout=transposed,values=unit)",
    ),
    _mutant(
        "16 bits of an index in rows",
        "fill",
        "COPY2D(f32)",
        ("columns.h", "thread = u32(grid.first())", "thread = u16(grid.first())"),
        "copy2d_f32(shape=[300,300],src_s=301,dst_s=302,values=wide)",
    ),
    _mutant(
        "16 bits of the place in an image",
        "conv",
        "CONV2D(f32)",
        ("convolve.h", "out_offset[j] = ((b", "out_offset[j] = 0xffff & ((b"),
        "conv2d_f32(shape=[1,1,300,300],cout=1,k=[1,1],values=unit)",
    ),
    _mutant(
        "8 bits of a size",
        "indexing",
        "INDEX_ADD(u32, f32)",
        ("scatter.h", "  const size_t columns = left * right;\n", "  const size_t columns = u8(left) * right;\n"),
        "ia_u32_f32(shape=[300,5,2],count=3,ids=plain,values=unit)",
    ),
    _mutant(
        "rows behind a limit on them",
        "quantized",
        "DMMV_SUPER(Q2_K, q2_k)",
        ("quantized.hip", "if (row < nrows) dmmv_super_blocks", "if (row < nrows && row < 509) dmmv_super_blocks"),
        "dequantize_mul_mat_vec_q2_k(ncols=256,nrows=600,values=random)",
    ),
    _mutant(
        "a stride of 2 taken for 1",
        "ternary",
        "WHERE(u8, f32)",
        ("elementwise.h", "plan.packed_rows && strides[inner] == 1 &&", "plan.packed_rows && strides[inner] <= 2 &&"),
        "where_u8_f32(shape=[48],t=stepped_by_2,values=unit,t_start=0)",
    ),
    _mutant(
        "rows of whole packs by their pitch alone",
        "ternary",
        "WHERE(u8, u32)",
        (
            "elementwise.h",
            "plan.packed_rows = inner == 0 || (plan.strides.size[inner].size & (width - 1)) == 0;",
            "plan.packed_rows = true;",
        ),
        "where_u8_u32(shape=[6,13],layout=narrowed,values=unit,ids_start=16,t_start=16,f_start=16)",
    ),
    _mutant(
        "dimensions behind the last that there is room for",
        "binary",
        "BINARY(add, f16)",
        ("strided.h", "      ++strides.dims;\n      return;", "      return;"),
        "badd_f16(shape=[2,2,3,2,2,2,2,2],lhs=reversed,values=unit)",
    ),
    _mutant(
        "the second tile of a row where the first is",
        "binary",
        "COMPARE(eq, f32)",
        ("elementwise.h", "    tile.out += side;", "    tile.out += 0;"),
        "eq_f32(shape=[70,130],lhs=transposed,values=ties,grid=2)",
    ),
    _mutant(
        "no barrier before the next tile",
        "binary",
        "COMPARE(eq, u32)",
        ("elementwise.h", "  if (!transposed) return;\n  __syncthreads();\n", "  if (!transposed) return;\n"),
        "eq_u32(shape=[70,130],lhs=transposed,values=ties,grid=2)",
    ),
    _mutant(
        "what is not aligned without a loop",
        "affine",
        "AFFINE(f64)",
        (
            "contiguous.h",
            "#pragma unroll 1\n  for (size_t i = grid.first(); i < numel; i += grid.step()) out[i]",
            "  if (size_t i = grid.first(); i < numel) out[i]",
        ),
        "affine_f64(shape=[2500],values=unit,start=1,grid=1)",
    ),
    _mutant(
        "shared memory that is right only where it was -1",
        "ternary",
        "WHERE(u8, f16)",
        (
            "elementwise.h",
            "  plan.contiguous = finds_contiguous && width > 1 && is_contiguous<N>(num_dims, info);\n"
            "  if (plan.contiguous) return;",
            "  if (width > 1 && is_contiguous<N>(num_dims, info)) return;\n  plan.contiguous = false;",
        ),
        "where_u8_f16(shape=[2500],values=unit,grid=1)",
    ),
    Mutant(
        "a maximum that starts at -100",
        "reduce",
        "SOFTMAX(f32)",
        (
            ("softmax.h", "src[logical_wave_size * k] : limit<T, false>();", "src[logical_wave_size * k] : T(-100);"),
            ("softmax.h", "Wide lane_max = limit<Wide, false>();", "Wide lane_max = -100;"),
        ),
        ("softmax_f32(shape=[3,40],values=unit,mark=far_below)",),
    ),
    _mutant(
        "null read where its strides do not matter",
        "candle_like",
        "AFFINE(u32, unsigned)",
        ("candle_like.hip", "if (info == nullptr || is_contiguous", "if (info == nullptr && is_contiguous"),
        "affine_u32(shape=[1025],values=large)",
    ),
    _mutant(
        "a size of 2 taken for one of 1, in a plain loop",
        "candle_like",
        "AFFINE(i64, long long)",
        ("candle_like.hip", "if (dims[d] > 1 && strides", "if (dims[d] > 2 && strides"),
        "affine_i64(shape=[2,6,8],layout=narrowed_middle,values=unit)",
        "affine_i64(shape=[4,2,6],layout=broadcast_middle,values=unit)",
        "affine_i64(shape=[5,4,2],layout=broadcast_last,values=unit)",
    ),
    _mutant(
        "the left side strided without a loop",
        "candle_like",
        "ADD(u32, unsigned)",
        ("candle_like.hip", _STEPS + _LEFT, "if (unsigned i = first; i < numel)" + _LEFT),
        "badd_u32(shape=[3,29,31],lhs=transposed,values=unit,grid=2)",
    ),
    _mutant(
        "the right side strided without a loop",
        "candle_like",
        "ADD(i64, long long)",
        ("candle_like.hip", _STEPS + _RIGHT, "if (unsigned i = first; i < numel)" + _RIGHT),
        "badd_i64(shape=[3,29,31],rhs=transposed,values=unit,grid=2)",
    ),
    _mutant(
        "16 bits of an index where one side is strided",
        "candle_like",
        "ADD(u8, unsigned char)",
        ("candle_like.hip", _STEPS + _RIGHT, _STEPS + _RIGHT.replace("place(i,", "place(i & 0xffff,")),
        "badd_u8(shape=[257,257],rhs=transposed,values=unit)",
    ),
    _mutant(
        "16 bits of an index where both sides are strided",
        "candle_like",
        "ADD(f32, float)",
        ("candle_like.hip", "const unsigned at = i;", "const unsigned at = i & 0xffff;"),
        "badd_f32(shape=[257,257],layout=transposed,values=unit)",
    ),
)


def _trimmed(text: str, keep: str) -> str:
    """A module's source without its kernels but for those that ``keep`` instantiates."""
    text = re.sub(r"^KERNEL\(.*?^\}\n", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in text.splitlines() if not re.match(r"[A-Z][A-Z0-9_]*\(", line)]
    return "\n".join([*lines, *keep.replace(") ", ")\n").splitlines(), ""])


def _edited(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"{file.name} has this {text.count(old)} times: {old}"
    file.write_text(text.replace(old, new))


def plant_one(mutant: Mutant, folder: Path) -> None:
    original = CANDLE_LIKE if mutant.module == CANDLE_LIKE.stem else KERNELS / f"{mutant.module}.hip"
    shutil.copytree(KERNELS / "include", folder / "include")
    source = folder / original.name
    source.write_text(_trimmed(original.read_text(), mutant.keep))
    for name, old, new in mutant.edits:
        _edited(source if name == source.name else folder / "include" / name, old, new)


def plant(folder: Path) -> Path:
    """A tree in ``folder`` with every mutant in a folder of its own."""
    for number, mutant in enumerate(MUTANTS):
        plant_one(mutant, folder / f"{number:02}")
    return folder
