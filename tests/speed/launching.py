"""The cost of one launch: from arguments ready to output back."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from conformance.cases.launch import Buffer, Launch, Null, Scalar
from conformance.files import kernels_folder
from conformance.port.compiling.cache import made
from conformance.port.compiling.target import CompileTarget
from conformance.port.sources import find_sources
from conformance.processes import Supervisor
from conformance.runtimes import open_runtime, runtime_kind
from conformance.runtimes.hip.device import Function
from tests.device import LaunchingDevice

_REPEATS = 2000


def launch_microseconds() -> Iterator[tuple[str, float, str]]:
    """(what, microseconds, note) for a launch whose kernel does next to nothing: affine_f32 over 1 and 1,024 elements.

    Uploads, launch, synchronisation and downloads are all in it; the kernel's own time is, too.
    """
    device = LaunchingDevice(open_runtime("cpu", wave=64, threads=1))
    source = next(found for found in find_sources(kernels_folder()) if found.path.stem == "affine")
    target = CompileTarget(runtime_kind("cpu"), device.wave, device.arch, device.compiler_identity())
    with Supervisor() as supervisor:
        code = made(source, target, supervisor).code
    function = device.function(device.load(code), "affine_f32")
    assert function is not None
    for count in (1, 1024):
        block = 1024 if count > 1 else 1
        launch = Launch(
            "affine_f32",
            (1, 1, 1),
            (block, 1, 1),
            0,
            (
                Scalar("numel", "size_t", np.uint64(count)),
                Scalar("num_dims", "size_t", np.uint64(1)),
                Null("info"),
                Buffer("inp", "f32", "in", np.ones(count, np.float32)),
                Buffer("out", "f32", "out", np.zeros(count, np.float32)),
                Scalar("mul", "f32", np.float32(2)),
                Scalar("add", "f32", np.float32(1)),
            ),
        )
        best = min(_seconds(device, function, launch) for _ in range(5))
        yield f"one launch, arguments ready to output back, {count} elements", best * 1e6, "best of 5 x 2,000"


def _seconds(device: LaunchingDevice, function: Function, launch: Launch) -> float:
    started = time.perf_counter()
    for _ in range(_REPEATS):
        device.launch(function, launch)
    return (time.perf_counter() - started) / _REPEATS
