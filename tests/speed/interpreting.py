"""How fast the isa runtime interprets: instructions of waves a second of one core, in a process of its own."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable

from conformance.cases.case import Case, parse_fields
from conformance.cases.launch import Buffer, Launch
from conformance.engine.timing.workload import large_launch
from conformance.files import kernels_folder
from conformance.port.amd_cache import compile_cached
from conformance.runtimes.hip.device import Device
from conformance.runtimes.isa.control import open_isa_runtime
from conformance.spec.load import load_specs
from conformance.toolchains.amd import find_toolchain
from conformance.toolchains.targets import AmdError, targets_of

_ROUNDS = 3
_KERNELS = {
    "uneg_f32": "unary.hip",
    "uerf_f32": "unary.hip",
    "fast_sum_f32": "reduce.hip",
    "softmax_f32": "reduce.hip",
    "conv2d_f32": "conv.hip",
    "gather_u32_f32": "indexing.hip",
    "asort_asc_f32": "sort.hip",
    "mul_mat_q4_0": "quantized.hip",
}
"""Kernels and their files: short ones, polynomials, DPP and LDS, scalar loops, sorting, dot products."""


def interpreted(target: str) -> list[tuple[str, float]]:
    """Kernel and millions of wave instructions a second in its case of a layer's size; empty without a compiler for
    ``target``."""
    (wanted,) = targets_of(target)
    try:
        toolchain = find_toolchain([wanted])
    except AmdError:
        return []
    files = {name: compile_cached(toolchain, kernels_folder() / name, wanted).code for name in set(_KERNELS.values())}
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (files, target))


def _measured(files: dict[str, bytes], target: str) -> list[tuple[str, float]]:
    runtime = open_isa_runtime(target, 1)
    device = Device(runtime)
    modules = {name: device.load(code) for name, code in files.items()}
    kernels = load_specs().kernels
    found = []
    for name, file in _KERNELS.items():
        function = device.function(modules[file], name)
        assert function is not None
        kernel = kernels[name]
        launch = large_launch(kernel, Case(name, parse_fields(kernel.bench["small"][0])))
        places = {buffer.name: device.allocate(buffer.data.nbytes) for buffer in _buffers(launch)}
        for buffer in _buffers(launch):
            device.upload(places[buffer.name], buffer.data)
        start = device.prepare(function, launch, places).start
        found.append((name, max(_rate(runtime.executed, start) for _ in range(_ROUNDS))))
        for place in places.values():
            device.free(place)
    return found


def _buffers(launch: Launch) -> list[Buffer]:
    return [argument for argument in launch.args if isinstance(argument, Buffer)]


def _rate(executed: Callable[[], int], start: Callable[[], None]) -> float:
    """Millions a second of processor time."""
    before, started = executed(), time.process_time()
    start()
    return (executed() - before) / (time.process_time() - started) / 1e6
