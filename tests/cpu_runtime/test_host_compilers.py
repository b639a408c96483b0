"""The host trial of whole modules with the oldest clang that README promises, the newest that is here, and g++, each as
Ubuntu has it: fortified."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.toolchains.host import OLDEST_CLANG
from conformance.toolchains.search import on_path

MODULES = ("fill", "affine", "ternary")
NEWEST = next((path for path in on_path("clang++", OLDEST_CLANG + 1) if path[-1].isdigit()), "a newer clang++")


@pytest.mark.nightly("whole modules by three compilers")
@pytest.mark.parametrize("compiler", [f"clang++-{OLDEST_CLANG}", NEWEST, "g++"], ids=os.path.basename)
def test_three_modules_are_at_parity(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"THE HOST TRIAL WAS NOT TRIED WITH {compiler}: it is not installed")
    chosen = [word for module in MODULES for word in ("--module", module)]
    words = ["run", "--runtime", "cpu", *chosen, "--json", str(tmp_path / "record.json")]
    done = subprocess.run(
        [sys.executable, "-m", "conformance", *words],
        env={**os.environ, "CANDLE_PARITY_CXX": f"{compiler} -D_FORTIFY_SOURCE=3"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "60 of 60 selected pass (of 748)" in done.stdout
    assert "\n  60 pass" in done.stdout
