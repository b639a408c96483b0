"""Runs collectives.hip on the cpu runtime, in a process of its own, and prints what came out as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from conformance.cases.launch import Buffer, Launch, Scalar
from conformance.runtimes.cpu.control import open_cpu_runtime
from conformance.runtimes.hip.errors import HipError
from tests.device import LaunchingDevice

THREADS = 256


def main(wave: int) -> dict[str, Any]:
    device = LaunchingDevice(open_cpu_runtime(wave, 2))
    source = Path(__file__).with_name("collectives.hip")
    module = device.load(device.compile(source.read_text(), source.name, []))
    numbers = np.arange(THREADS, dtype=np.float32)

    def run(name: str, *scalars: int, out: Any = numbers, threads: int = THREADS, shared: int = 0) -> list[Any]:
        function = device.function(module, name)
        assert function is not None, name
        inputs = [Buffer("in", "f32", "in", numbers)] if name.startswith(("shuffle", "reverse")) else []
        args: list[Buffer | Scalar] = [*inputs, Buffer("out", "f32", "out", np.zeros_like(out))]
        args += [Scalar(f"s{i}", "i32", np.int32(value)) for i, value in enumerate(scalars)]
        launch = Launch(name, (1, 1, 1), (threads, 1, 1), shared, tuple(args))
        values: list[Any] = device.launch(function, launch).buffers["out"].tolist()
        return values

    def fault(name: str, *scalars: int, **geometry: int) -> str:
        try:
            run(name, *scalars, **geometry)
        except HipError as error:
            return str(error)
        return ""

    return {
        "shuffles": {
            f"{form} {width}": run(f"shuffle_{form}", 3, width)
            for form in ("down", "up", "xor", "index")
            for width in (2, 8, 32, wave)
        },
        "reverse": [run(f"reverse_{place}", shared=4 * THREADS) for place in ("inside", "outside")],
        "votes": run("votes", out=np.zeros(8, np.int64), threads=192),
        "prints": run("prints", threads=2),
        "faults": {
            "asserts": fault("asserts", threads=1),
            "aborts": fault("aborts", threads=1),
            "traps": fault("traps", threads=1),
            "overruns": fault("overruns", 20, threads=32),
            "reverse_inside": fault("reverse_inside", shared=2 * THREADS),
        },
        "fits": run("overruns", 0, threads=32)[:32],
        "mangled": [
            device.function(module, name) is not None for name in ("forgets_extern_c", "_Z16forgets_extern_cPf")
        ],
        "lines": {row["name"]: row["line"] for row in device.runtime.module_kernels(int(module.handle)) or []},
    }


if __name__ == "__main__":
    print("\n" + json.dumps(main(int(sys.argv[1]))))
