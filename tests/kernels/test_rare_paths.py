"""Paths of our kernels that only data too large for the matrix would take, forced onto data of its sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.cli.main import main

KERNELS = Path(__file__).resolve().parents[2] / "kernels"


@pytest.mark.parametrize("wave", ["32", "64"])
def test_scatter_in_batches_that_go_to_memory(wave: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As where the places of all columns do not fit in the last cache."""
    kernels = ["s_u32_f32", "s_i64_f64", "sa_i64_bf16", "sa_u32_f8_e4m3"]
    source = str(KERNELS / "indexing.hip")
    words = ["--runtime", "cpu", "--wave", wave, "--kernels", source, "-D", "CANDLE_CACHE_BYTES=size_t(0)", "-j", "1"]
    assert main(["run", *words, *kernels]) == 0
    assert f"{len(kernels)} pass" in capsys.readouterr().out
