"""``capture`` in front of NVIDIA's driver: Candle's own kernels, launched by a program of ours and by Candle's backend.

Every launch is right, which judges the reference as well. Skipped, with the reason, where there is no such GPU.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.capture.conftest import PROGRAMS, candle_parity

pytestmark = [pytest.mark.on_nvidia_gpu, pytest.mark.usefixtures("nvidia_gpu")]

MODULES = ("affine", "binary", "indexing", "quantized", "reduce", "unary")
"""Candle's sources with the kernels of the network."""

NVCC = shutil.which("nvcc", path=f"{os.environ['PATH']}:/usr/local/cuda/bin")


@pytest.mark.nightly("compiles six of Candle's sources and a program by nvcc, and judges ten launches")
@pytest.mark.skipif("CANDLE_CHECKOUT" not in os.environ, reason="CANDLE_CHECKOUT names no checkout of Candle 2a13b0f3")
@pytest.mark.skipif(NVCC is None, reason="there is no nvcc")
def test_a_network_with_candles_own_kernels_is_right(tmp_path: Path) -> None:
    sources = Path(os.environ["CANDLE_CHECKOUT"]) / "candle-kernels" / "src"
    codes = [tmp_path / f"{module}.ptx" for module in MODULES]
    for code in codes:
        options = ("--expt-relaxed-constexpr", "-std=c++17", "-O3", "-arch=sm_80")
        subprocess.run([str(NVCC), "-ptx", *options, str(sources / f"{code.stem}.cu"), "-o", str(code)], check=True)
    program = tmp_path / "network"
    build = (NVCC, "-std=c++17", "-I", PROGRAMS / "cuda", PROGRAMS / "network.cpp", "-lcuda", "-lcublas", "-o", program)
    subprocess.run([str(word) for word in build], check=True)
    done = candle_parity("capture", "-o", tmp_path / "launches", "--", program, ",".join(map(str, codes)))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-1]) == ("the probabilities add up to 4.0000", "10 launches judged, all right")


@pytest.mark.nightly("launches every operation of Candle's CUDA backend, and judges the launches")
@pytest.mark.skipif(
    "CANDLE_NETWORK" not in os.environ, reason="CANDLE_NETWORK names no program built of tests/capture/programs/candle"
)
def test_what_candles_backend_launches_is_right(tmp_path: Path) -> None:
    done = candle_parity("capture", "-o", tmp_path / "launches", "--", os.environ["CANDLE_NETWORK"])
    assert (done.returncode, done.stderr) == (0, "")
    judged = re.fullmatch(r"([\d,]+) launches judged, all right", done.stdout.splitlines()[-1])
    assert judged is not None
    assert int(judged[1].replace(",", "")) > 1000
