"""What a backend leaves to libraries, in the smallest sources that call them as Candle and three ports do.

The list of each was read off its own sources by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from candle_wiring.libraries import library_calls

CANDLE = """
impl BackendDevice for CudaDevice {
    fn rand_uniform(&self, dtype: DType) -> Result<()> {
        match dtype {
            DType::F16 | DType::BF16 => Err("none")?,
            DType::F32 => { curand.0.fill_with_uniform(&mut data)?; }
            DType::F64 => { curand.0.fill_with_uniform(&mut data)?; }
        }
    }
    fn rand_normal(&self, dtype: DType) -> Result<()> {
        match dtype {
            DType::F32 => { curand.0.fill_with_normal(&mut data, mean as f32, std as f32)?; }
            DType::F64 => { curand.0.fill_with_normal(&mut data, mean, std)?; }
        }
    }
}
impl BackendStorage for CudaStorage {
    fn matmul(&self, rhs: &Self) -> Result<Self> {
        match (&self.slice, &rhs.slice) {
            (S::BF16(l), S::BF16(r)) => unsafe { product_bf16(cfg, r, l) },
            (S::F16(l), S::F16(r)) => unsafe { product_f16(cfg, r, l) },
            (S::F64(l), S::F64(r)) => unsafe { self.device.blas.gemm_strided_batched(cfg, r, l) },
        }
    }
    #[cfg(not(feature = "cudnn"))]
    fn conv2d(&self) -> Result<Self> { own() }
    #[cfg(feature = "cudnn")]
    fn conv2d(&self) -> Result<Self> {
        match (&self.slice, &kernel.slice) {
            (S::U8(i), S::U8(k)) => crate::cudnn::convolve::<u8, u8>(i, k),
            (S::BF16(i), S::BF16(k)) => crate::cudnn::convolve::<bf16, f32>(i, k),
        }
    }
}
unsafe fn product_bf16(cfg: Config, a: View, b: View) {
    cudarc::cublas::result::gemm_strided_batched_ex(a, sys::CUDA_R_16BF, b, sys::CUDA_COMPUTE_32F)
}
unsafe fn product_f16(cfg: Config, a: View, b: View) {
    cudarc::cublas::result::gemm_strided_batched_ex(a, sys::CUDA_R_16F, b)
}
pub(crate) fn convolve<T, Y>(input: View, kernel: View) { let conv = cudnn.create_conv2d::<Y>(pads)?; }
#[cfg(test)]
mod tests { fn tried() { blas.gemm_ex(a, sys::CUDA_R_16F) } }
"""
HIPDARC = """
use hipdarc::rocblas::{GemmDataType, StridedBatchedGemmConfig};
impl BackendStorage for HipStorage {
    fn matmul(&self, rhs: &Self) -> Result<Self> {
        match (&self.slice, &rhs.slice) {
            (HipStorageSlice::F32(l), HipStorageSlice::F32(r)) => {
                unsafe { hipdarc::rocblas::gemm_strided_batched_ex(dev.rocblas_handle()?, &cfg, r, l) }
            }
        }
    }
}
pub fn attention_decode(q: &HipStorage) -> Result<HipStorage> { unsafe { sgemv_strided_batched(blas, &cfg, q) } }
"""
FFI = """
impl BackendStorage for HipStorage {
    fn matmul(&self, rhs: &Self) -> Result<Self> {
        match (&self.slice, &rhs.slice) {
            (S::F16(l), S::F16(r)) => ffi::check(ffi::rocblas_gemm_strided_batched_ex(
                handle, rocblas_datatype::rocblas_datatype_f16_r, rocblas_datatype::rocblas_datatype_f32_r)),
        }
    }
}
extern "C" { pub fn rocblas_gemm_strided_batched_ex(handle: Handle) -> Status; }
"""
ROCM_RS = """
macro_rules! dispatch { ($f:ident) => {{
    match s { S::F32(s) => $f::<f32>(s), S::F64(s) => $f::<f64>(s) }
}}; }
impl BackendDevice for RocmDevice {
    fn rand_uniform(&self, dtype: DType) -> Result<()> {
        match dtype {
            DType::F32 => { rocrand.generate_uniform(&mut data)?; }
            DType::F64 => { rocrand.generate_uniform_double(&mut data)?; }
        }
    }
}
impl BackendStorage for RocmStorage {
    fn conv2d(&self) -> Result<Self> { dispatch!(convolve) }
    fn avg_pool2d(&self) -> Result<Self> { dispatch!(pool) }
    fn matmul(&self, rhs: &Self) -> Result<Self> {
        dispatch_matmul!(self, (F32, f32, gemm_strided_batched), (BF16, bf16, gemm_strided_batched_ex, ffi::bf16_r))
    }
}
unsafe fn gemm_strided_batched<T>(a: P) { rocblas::gemm_strided_batched(a) }
unsafe fn gemm_strided_batched_ex(a: P, datatype: D) { rocblas_gemm_strided_batched_ex(a, datatype, ffi::f32_r) }
fn convolve<T>(x: P) { rocm_rs::miopen::convolution::convolution_forward(x) }
fn pool<T>(x: P) { rocm_rs::miopen::ffi::miopenPoolingForward(x) }
"""


@pytest.mark.parametrize(
    ("backend", "source", "matched", "beyond"),
    [
        (
            *("cuda_backend", CANDLE),
            {
                "rand_uniform f32": "cuRAND fill_with_uniform:6",
                "rand_uniform f64": "cuRAND fill_with_uniform:7",
                "rand_normal f32": "cuRAND fill_with_normal:12",
                "rand_normal f64": "cuRAND fill_with_normal:13",
                "matmul f64": "cuBLAS gemm_strided_batched:22",
                "matmul bf16": "cuBLAS gemm_strided_batched_ex:36",
                "matmul f16": "cuBLAS gemm_strided_batched_ex:39",
                "conv2d u8": "cuDNN create_conv2d:41",
                "conv2d bf16": "cuDNN create_conv2d:41",
            },
            {},
        ),
        (
            *("hip_backend", HIPDARC),
            {"matmul f32": "rocBLAS gemm_strided_batched_ex:7"},
            {"attention_decode f32": "rocBLAS sgemv_strided_batched:12"},
        ),
        ("hip_backend", FFI, {"matmul f16": "rocBLAS rocblas_gemm_strided_batched_ex:5"}, {}),
        (
            *("rocm_backend", ROCM_RS),
            {
                "rand_uniform f32": "rocRAND generate_uniform:8",
                "rand_uniform f64": "rocRAND generate_uniform_double:9",
                "matmul f32": "rocBLAS gemm_strided_batched:20",
                "matmul bf16": "rocBLAS rocblas_gemm_strided_batched_ex:21",
                "conv2d f32": "MIOpen convolution_forward:22",
                "conv2d f64": "MIOpen convolution_forward:22",
            },
            {
                "avg_pool2d f32": "MIOpen miopenPoolingForward:23",
                "avg_pool2d f64": "MIOpen miopenPoolingForward:23",
            },
        ),
    ],
    ids=["Candle", "hipdarc", "ffi", "rocm-rs"],
)
def test_calls_are_told_by_operation_dtype_and_place(
    tmp_path: Path, backend: str, source: str, matched: dict[str, str], beyond: dict[str, str]
) -> None:
    folder = tmp_path / "candle-core/src" / backend
    folder.mkdir(parents=True)
    (folder / "mod.rs").write_text(source)
    found = library_calls(tmp_path, backend)
    for rows, wanted in ((found.matched, matched), (found.beyond, beyond)):
        assert {
            f"{one.name} {one.dtype}": f"{what}:{place.rpartition(':')[2]}"
            for one in rows
            for what, (place,) in one.calls.items()
        } == wanted
    missing = {f"{one.name} {one.dtype}" for one in found.missing}
    assert not missing & matched.keys()
    assert ("rand_normal f64" in missing) == ("rand_normal f64" not in matched)
    assert next(iter(found.as_text())) == (
        f"library calls: {len(matched)} matched, {len(missing)} missing, {len(beyond)} beyond"
    )
    assert {one.feature for one in found.matched if one.name == "conv2d"} <= {"cudnn", ""}
