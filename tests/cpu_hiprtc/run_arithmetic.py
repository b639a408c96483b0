"""Compiles kernels of one operand each as HIP and as CUDA, runs them on the cpu runtime, and keeps what came out.

``run_arithmetic.py IN.npz OUT.npz``: ``IN`` has an array of operands for each source type, and three arrays of halves.
"""

from __future__ import annotations

import sys

import numpy as np

from conformance.cases.launch import Buffer, Launch, Scalar
from conformance.runtimes.cpu.control import open_cpu_runtime
from tests.cpu_hiprtc.test_dialects import CONVERTED, CPP, FUSED, SIXTEEN, SOURCE_TYPES
from tests.device import LaunchingDevice


def source(suffix: str) -> str:
    half = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n" if suffix == "cu" else "#include <hip/hip_bf16.h>\n"
    kernels = [
        f'extern "C" __global__ void {src}_{dst}(const {CPP[src]} *x, {CPP[dst]} *out, int n) {{\n'
        f"  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = static_cast<{CPP[dst]}>(x[i]);\n}}\n"
        for src in SOURCE_TYPES
        for dst in CONVERTED
    ]
    kernels += [
        f'extern "C" __global__ void {name}(const {kind} *a, const {kind} *b, const {kind} *c, {kind} *out, int n) {{\n'
        f"  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = {expression};\n}}\n"
        for name, (kind, expression) in FUSED.items()
        if suffix == "hip" or kind == "__half"
    ]
    return (
        half + "".join(kernels) + SIXTEEN.replace("BFLOAT16", "__nv_bfloat16" if suffix == "cu" else "__hip_bfloat16")
    )


def main(given: str, kept: str) -> None:
    data = np.load(given)
    device = LaunchingDevice(open_cpu_runtime(64, 2))
    found = {}
    for suffix in ("hip", "cu"):
        module = device.load(device.compile(source(suffix), f"arithmetic.{suffix}", []))

        def run(name: str, out: np.ndarray, *operands: np.ndarray) -> np.ndarray:
            function = device.function(module, name)  # noqa: B023
            buffers = [Buffer(f"in{n}", "u8", "in", one.view(np.uint8)) for n, one in enumerate(operands)]
            args = (*buffers, Buffer("out", "u8", "out", out.view(np.uint8)), Scalar("n", "i32", np.int32(out.size)))
            launch = Launch(name, (1, 1, 1), (64, 1, 1), 0, args)
            return device.launch(function, launch).buffers["out"].view(out.dtype)

        for src in SOURCE_TYPES:
            for dst, dtype in CONVERTED.items():
                x = data[src]
                found[f"{suffix}_{src}_{dst}"] = run(f"{src}_{dst}", np.zeros(x.size, dtype), x)
        for name, (kind, _) in FUSED.items():
            if suffix == "hip" or kind == "__half":
                operands = [data[one] for one in "abc"]
                found[f"{suffix}_{name}"] = run(name, np.zeros_like(operands[0]), *operands)
        found[f"{suffix}_sixteen"] = run("sixteen", np.zeros(10, np.uint16), np.array([0x80800001], np.uint32))
    np.savez(kept, **found)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
