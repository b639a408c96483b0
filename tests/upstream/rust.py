"""Small Rust sources in the shape of Candle's backend, and what the analysis finds in them."""

from __future__ import annotations

from pathlib import Path

from candle_wiring.judge import Wiring, wire
from conformance.spec.load import load_specs

DTYPES = """\
pub enum DType { U8, F32, F64, F8E4M3 }
impl DType {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F8E4M3 => "f8e4m3",
        }
    }
}
pub trait WithDType { const DTYPE: DType; }
macro_rules! with_dtype {
    ($ty:ty, $dtype:ident) => {
        impl WithDType for $ty { const DTYPE: DType = DType::$dtype; }
    };
}
use float8::F8E4M3 as f8e4m3;
with_dtype!(u8, U8);
with_dtype!(f32, F32);
with_dtype!(f64, F64);
with_dtype!(f8e4m3, F8E4M3);
"""

BACKEND = """\
use crate::dtype::{DType, WithDType};
pub enum Slice { U8(Buf<u8>), F32(Buf<f32>), F64(Buf<f64>), F8E4M3(Buf<float8::F8E4M3>), Raw(Buf<u8>) }
use Slice as S;
pub struct Storage { pub slice: Slice, pub dev: Dev }
pub struct Dev;
impl Dev {
    pub fn get_or_load_func(&self, fn_name: &str, m: &Module) -> Result<Func> { self.module.load_function(fn_name) }
}
pub fn kernel_name<T: WithDType>(root: &str) -> String {
    let dtype = T::DTYPE.as_str();
    format!("{root}_{dtype}")
}
"""

SPEC = """\
module: toy
title: Toys
source: toy.cu
source_lines: 9
families:
  - family: toy
    name: "toy_{dtype}"
    spelling: {f8e4m3: f8_e4m3}
    params: {x: "out {dtype}*"}
    row: {axis: dtype, lines: {u8: 1, f32: 2, f64: 3, f8e4m3: 4}}
    tolerance:
      - {ulp: 0, library_ulp: 0, source: exact}
"""


def make_tree(folder: Path, code: str, backend: str = "cuda_backend") -> Path:
    """A checkout whose backend holds ``code`` behind what ``BACKEND`` declares; its first line is ``LINE`` + 1."""
    core = folder / "candle" / "candle-core" / "src"
    (core / backend).mkdir(parents=True, exist_ok=True)
    (core / "dtype.rs").write_text(DTYPES)
    (core / backend / "mod.rs").write_text(BACKEND + code)
    return folder / "candle"


LINE = BACKEND.count("\n")


def make_specs(folder: Path) -> Path:
    """A folder with the four toy kernels."""
    specs = folder / "specs"
    specs.mkdir(exist_ok=True)
    (specs / "toy.yaml").write_text(SPEC)
    return specs


def analyse(folder: Path, code: str, backend: str = "cuda_backend") -> Wiring:
    """The wiring of ``code`` against the toy kernels."""
    return wire(make_tree(folder, code, backend), backend, load_specs(make_specs(folder)))


def asked(wiring: Wiring) -> set[str]:
    """Every name that is asked for, there or not."""
    return {name for name, asks in wiring.kernels.items() if asks} | {one.name for one in wiring.missing}
