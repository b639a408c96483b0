"""Code paths of our kernels that the matrix does not cover: they need a large grid or data larger than a cache."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance.cli.main import main

KERNELS = Path(__file__).resolve().parents[2] / "kernels"

LARGE_GRIDS = {
    "several short rows per block, and a remainder of five rows with a block each": [
        *(f"fast_{op}_f32(shape=[517,600])" for op in ("sum", "min", "max", "argmin", "argmax")),
        *("fast_sum_bf16(shape=[517,600])", "fast_max_u8(shape=[517,600])", "fast_argmin_i64(shape=[517,600])"),
    ],
    "whole cache lines of adjacent rows per block, and a remainder of twelve rows with a block each": [
        "fast_sum_f32(shape=[4108,1600],layout=transposed)",
        "fast_max_f16(shape=[4108,1100],layout=transposed)",
        "fast_argmax_u8(shape=[2060,700],layout=transposed)",
    ],
    "convolutions with large tiles": [
        "conv1d_f32(shape=[2,5,3000],cout=7,k=[3],padding=1,block=32)",
        "conv2d_f16(shape=[2,5,33,31],cout=9,k=[3,3],padding=1,block=32)",
        "conv2d_f64(shape=[2,5,33,31],cout=9,k=[3,3],padding=1,block=32)",
        "conv_transpose1d_u8(shape=[2,5,1000],cout=7,k=[4],stride=2,block=32)",
        "conv_transpose2d_f32(shape=[2,5,17,16],cout=9,k=[4,4],padding=1,stride=2,block=32)",
    ],
    "convolutions as products of matrices, and blocks with several tiles": [
        "conv1d_f64(shape=[1,16,8400],cout=33,k=[1],grid=512)",
        "conv2d_f16(shape=[2,16,90,91],cout=33,k=[1,2],padding=1,values=poles)",
        "conv2d_f32(shape=[2,33,15,17],cout=70,k=[3,3],padding=1,stride=2,grid=512)",
        "conv2d_bf16(shape=[2,33,15,17],cout=130,k=[3,3],padding=1,dilation=2,values=subnormal,grid=512)",
        "conv_transpose2d_f16(shape=[2,20,16,17],cout=33,k=[3,2],padding=1,stride=2,dilation=2,grid=512)",
    ],
    "col2im1d through a tile in shared memory": [
        "col2im1d_f32(shape=[2,600,37],k=[4],stride=2)",
        "col2im1d_f16(shape=[1,8200,64],k=[4],stride=2)",
    ],
    "columns with several rows per thread, and fewer threads than columns": [
        "upsample_nearest2d_f32(shape=[2,5,17,16],out=[33,40],values=wide,block=1,grid=16384)",
        "upsample_nearest2d_u8(shape=[2,5,17,16],out=[33,37],values=wide,block=1,grid=16384)",
        "upsample_bilinear2d_f16(shape=[2,5,17,16],out=[33,40],values=unit,block=1,grid=16384)",
        "im2col_f32(shape=[2,3,13,11],k=[3,2],padding=1,values=wide,block=1,grid=16384)",
        "im2col_u8(shape=[1,200,4,4],k=[3,3],values=wide,block=1,grid=16384)",
        "im2col1d_f64(shape=[2,5,500],k=[3],padding=1,values=wide,block=1,grid=16384)",
        "copy2d_f16(shape=[99,160],src_s=168,values=wide,block=1,grid=16384)",
        "copy2d_u8(shape=[3,5000],src_s=5001,values=wide,block=1,grid=16384)",
        "copy2d_f64(shape=[2,6000],src_s=6002,values=wide,block=1,grid=16384)",
        "upsample_nearest2d_u32(shape=[1,3,4,500],out=[5,1000],values=wide,block=1,grid=16384)",
    ],
    "packs of pairs, with idle blocks": [
        "rope_f16(shape=[2,32,256,128])",
        "rope_i_bf16(shape=[1,32,256,128])",
    ],
    "rows whose working blocks are others from row to row": [
        "get_rows_f16(hidden=1024,rows=2100,ids=reversed)",
        "get_rows_q4_0(hidden=1024,rows=2100,ids=reversed)",
        "get_rows_q4_1(hidden=512,rows=2100,ids=reversed)",  # one block per row
    ],
    "several elements per thread, one after the other": [
        "uexp_f64(shape=[65611],block=16,grid=4101)",
        "unormcdf_bf16(shape=[65611],block=16,grid=4101)",
        "upowf_f32(shape=[65611],block=16,grid=1030)",
    ],
    "values of a whole grid, every second block idle": [
        "dequantize_block_q5_0_f16(blocks=32784)",
    ],
    "several packs per thread, with idle blocks": [
        "is_u32_u8(shape=[1,300,256],count=900,block=32)",
        "is_i64_f64(shape=[1,100,64],count=1100,block=32)",
        "badd_f32(shape=[200,200],lhs=transposed,block=32)",
        "uexp_f32(shape=[200,200],layout=transposed,block=32)",
        "affine_f32(shape=[262159],block=16,grid=16385)",
        "uneg_fp8_e4m3(shape=[262159],block=8,grid=32770)",
        "cast_f16_u8(shape=[524307],block=16,grid=32770)",
    ],
}


def judged(capsys: pytest.CaptureFixture[str], wave: str, cases: list[str], *more: str) -> None:
    assert main(["run", "--runtime", "cpu", "--wave", wave, "-j", "1", *more, *cases]) == 0
    assert f"{len(cases)} pass" in capsys.readouterr().out


@pytest.mark.nightly("grids of thousands of blocks, in both waves")
@pytest.mark.parametrize("wave", ["32", "64"])
@pytest.mark.parametrize("cases", LARGE_GRIDS.values(), ids=LARGE_GRIDS)
def test_large_grids(cases: list[str], wave: str, capsys: pytest.CaptureFixture[str]) -> None:
    judged(capsys, wave, cases)


@pytest.mark.slow("grids of thousands of blocks, in both waves")
@pytest.mark.parametrize("wave", ["32", "64"])
def test_batched_scatter_without_a_tile_in_shared_memory(wave: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As when the output of all columns in flight exceeds the last-level cache."""
    indexing = ("--kernels", str(KERNELS / "indexing.hip"), "-D", "CANDLE_CACHE_BYTES=size_t(0)")
    judged(capsys, wave, ["s_u32_f32", "s_i64_f64", "sa_i64_bf16", "sa_u32_f8_e4m3"], *indexing)


@pytest.mark.slow("grids of thousands of blocks, in both waves")
def test_offsets_of_more_than_31_bits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With conditions that are always true: tensors of that size take too long."""
    shutil.copytree(KERNELS, tmp_path / "kernels")
    for name in ("fill.hip", "include/im2col.h", "include/upsample.h"):
        file = tmp_path / "kernels" / name
        wide = file.read_text().replace(">> 31) {", ">> 31 | 1) {")
        assert wide != file.read_text()
        file.write_text(wide)
    names = [
        "copy2d_f16",
        "col2im1d_f32",
        "im2col_u8",
        "im2col1d_f64",
        "upsample_nearest2d_f32",
        "upsample_bilinear2d_f16",
    ]
    judged(capsys, "64", names, "--kernels", str(tmp_path / "kernels"))
