"""Runs one wave of 64 lanes per row of ``test_amd_names.ROWS`` on the cpu runtime: ``run_amd_names.py OUT.npz``."""

from __future__ import annotations

import sys

import numpy as np

from conformance.cases.launch import Buffer, Launch
from conformance.runtimes.cpu.control import open_cpu_runtime
from tests.cpu_hiprtc.test_amd_names import HEAD, ROWS
from tests.device import LaunchingDevice


def main(kept: str) -> None:
    kernels = [
        f'extern "C" __global__ void row{number}(unsigned *out) {{\n'
        f"  int i = threadIdx.x; unsigned u = i * 0x9e3779b9u + 12345u; float x = i * 0.25f + 0.125f;\n"
        f"  out[i] = bits({row[0]});\n}}\n"
        for number, row in enumerate(ROWS)
    ]
    device = LaunchingDevice(open_cpu_runtime(64, 1))
    module = device.load(device.compile(HEAD + "".join(kernels), "names.hip", []))
    found = {}
    for number in range(len(ROWS)):
        out = Buffer("out", "u8", "out", np.zeros(64, np.uint32).view(np.uint8))
        function = device.function(module, f"row{number}")
        launch = Launch(f"row{number}", (1, 1, 1), (64, 1, 1), 0, (out,))
        found[f"row{number}"] = device.launch(function, launch).buffers["out"].view(np.uint32).copy()
    np.savez(kept, **found)


if __name__ == "__main__":
    main(sys.argv[1])
