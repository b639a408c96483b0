"""A code object's bytes live as long as its module: HIP keeps the pointer that it was given."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.spec.load import load_specs
from tests.rocm_runtime.stand_in import ROOT, code_object, kernel_row

CHILD = """
import sys
from conformance.runtimes.hip.device import Device
from conformance.runtimes import open_runtime
device = Device(open_runtime("rocm"))
with open(sys.argv[1], "rb") as file:
    module = device.load(file.read() + bytes(1 << 20))
other = [bytes([number]) * (1 << 20) for number in range(1, 20)]
print(device.function(module, "fill_u8").name)
"""


@pytest.mark.usefixtures("over_stand_in")
@pytest.mark.slow("loads code objects in processes of their own")
def test_the_bytes_are_kept(tmp_path: Path) -> None:
    code = tmp_path / "fill.hsaco"
    code.write_bytes(code_object([kernel_row(load_specs().kernels["fill_u8"])]))
    words = [sys.executable, "-c", CHILD, str(code)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "fill_u8\n"), done.stderr
