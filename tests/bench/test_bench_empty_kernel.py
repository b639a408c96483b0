"""The empty kernel is compiled from its file and launched as any kernel is: here on the cpu runtime."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.engine.timing.timer import EMPTY
from conformance.port.sources import find_sources

ROOT = Path(__file__).resolve().parents[2]

# The runtime belongs to a process.
CHILD = """
from conformance.cases.launch import Launch
from conformance.engine.timing.measure import Bench
from conformance.engine.timing.timer import EMPTY
from conformance.runtimes import open_runtime
from tests.device import LaunchingDevice

device = LaunchingDevice(open_runtime("cpu", wave=64, threads=1))
module = device.load(device.compile(EMPTY.text(), EMPTY.label, []))
bench = Bench(device, asynchronous=False, empty=device.function(module, EMPTY.path.stem))
print(*(bench.floor_ms(Launch("k", (blocks, 1, 1), (64, 1, 1), 0, ())) for blocks in (1, 4096)))
"""


def test_it_is_the_only_source_of_its_folder():
    assert find_sources(EMPTY.root) == [EMPTY]


@pytest.mark.slow("times kernels")
def test_a_launch_of_it_is_timed():
    done = subprocess.run([sys.executable, "-c", CHILD], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [float(ms) > 0 for ms in done.stdout.split()] == [True, True]
