"""The cuda runtime on a GPU; skipped, with the reason, where there is none.

``pytest tests/cuda_runtime -m on_nvidia_gpu`` runs these alone, and the summary says how many ran.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cuda_runtime.machine import in_child

pytestmark = [pytest.mark.on_nvidia_gpu, pytest.mark.usefixtures("nvidia_gpu")]

SOURCE = Path(__file__).with_name("kernels.hip")
INSTRUCTIONS = Path(__file__).with_name("instructions.hip")
HEADERS = Path(__file__).resolve().parents[2] / "kernels" / "include"


class Gpu:
    """Lives in a child process: the runtime, a device, and the kernels of ``kernels.hip``."""

    def __init__(self, source: str | None = None, name: str = "kernels.hip", options: Sequence[str] = ()) -> None:
        from conformance.runtimes.cuda.control import open_cuda_runtime
        from tests.device import LaunchingDevice

        self.runtime = open_cuda_runtime()
        self.device = LaunchingDevice(self.runtime)
        code = self.device.compile(SOURCE.read_text() if source is None else source, name, options)
        self.module = self.device.load(code)

    def launch(self, name: str, *arguments: Any, block: int = 64, grid: int = 1, shared: int = 0) -> list[NDArray[Any]]:
        """Launch with arrays as buffers and numpy scalars by value; the arrays afterwards."""
        from conformance.cases.launch import Buffer, Launch, Scalar

        kinds = {"int32": "i32", "uint32": "u32", "float32": "f32", "uint64": "size_t", "int64": "i64"}
        args = tuple(
            Buffer(f"a{i}", kinds[a.dtype.name], "inout", a)
            if isinstance(a, np.ndarray)
            else Scalar(f"a{i}", kinds[a.dtype.name], a)
            for i, a in enumerate(arguments)
        )
        function = self.device.function(self.module, name)
        assert function is not None
        result = self.device.launch(function, Launch(name, (grid, 1, 1), (block, 1, 1), shared, args))
        assert result.damaged == {}
        return list(result.buffers.values())


def test_the_device_is_described() -> None:
    in_child(_described)


def _described() -> None:
    gpu = Gpu()
    assert gpu.device.name.startswith(("NVIDIA", "Tesla", "GeForce", "Quadro"))
    assert gpu.device.arch.startswith("sm_")
    assert gpu.device.wave == 32
    properties = gpu.device._properties(0)
    assert properties.multiProcessorCount > 0
    assert properties.totalGlobalMem > 1 << 30
    assert properties.maxThreadsPerBlock == 1024


def test_launches_compute() -> None:
    in_child(_compute)


def _compute() -> None:
    gpu = Gpu()
    data = np.arange(1000, dtype=np.int32)
    assert np.array_equal(gpu.launch("add_one", np.uint64(1000), data, grid=16)[0], data + 1)
    half = gpu.launch("add_one", np.uint64(500), data, grid=16)[0]
    assert np.array_equal(half, data + (np.arange(1000) < 500))
    x = np.array([0.5, -1.5, 2.25, 200.0], np.float32)
    expected = x * x + 1 + np.abs(x) + np.floor(x) + np.trunc(x + np.copysign(np.float32(0.5), x))
    expected[3] = np.inf
    assert np.array_equal(gpu.launch("builtins", x, np.zeros_like(x), block=4)[1], expected.astype(np.float32))


@pytest.mark.parametrize("lanes", [16, 5, 1])
def test_lanes_exchange_whoever_is_there(lanes: int) -> None:
    in_child(_exchange, lanes)


def _exchange(lanes: int) -> None:
    data = np.arange(64, dtype=np.int32)
    out = Gpu().launch("swap_halves", np.uint32(lanes), data, np.full(64, -1, np.int32))[1]
    assert np.array_equal(out, np.where(data % 16 < lanes, data ^ 16, -1))


def test_shared_memory_beyond_48_kib() -> None:
    in_child(_shared)


def _shared() -> None:
    gpu = Gpu()
    data = np.arange(20000, dtype=np.int32)
    assert np.array_equal(gpu.launch("reverse", np.uint32(20000), data, shared=80000, block=1024)[0], data[::-1])


def test_parameters_are_told() -> None:
    in_child(_parameters)


def _parameters() -> None:
    gpu = Gpu()
    rows = gpu.runtime.module_kernels(int(gpu.module.handle))
    if rows is None:
        assert "12.4 or newer is needed" in gpu.runtime.message()
        return
    sizes = {row["name"]: [parameter["size"] for parameter in row["params"]] for row in rows}
    assert sizes["swap_halves"] == [4, 8, 8]
    assert sizes["trap"] == []


def test_events_measure_and_attributes_tell() -> None:
    in_child(_events)


def _events() -> None:
    gpu = Gpu()
    hip = gpu.device.hip
    start, end = hip.hipEventCreate()[1], hip.hipEventCreate()[1]
    pointer = int(hip.hipMalloc(1 << 28)[1])
    clock = time.perf_counter()
    assert int(hip.hipEventRecord(start, None)[0]) == 0
    for _ in range(10):
        assert int(hip.hipMemset(pointer, 1, 1 << 28)[0]) == 0
    assert int(hip.hipEventRecord(end, None)[0]) == 0
    assert int(hip.hipEventSynchronize(end)[0]) == 0
    wall = (time.perf_counter() - clock) * 1e3
    error, milliseconds = hip.hipEventElapsedTime(start, end)
    assert int(error) == 0
    assert 0 < milliseconds <= wall * 1.5 + 1
    function = gpu.device.function(gpu.module, "add_one")
    assert function is not None
    value = ctypes.c_int()
    attribute = gpu.runtime._library.hipFuncGetAttribute
    handle = ctypes.c_void_p(int(function.handle))
    assert attribute(ctypes.byref(value), 4, handle) == 0
    assert 1 <= value.value <= 255


@pytest.mark.parametrize(
    ("kernel", "codes", "words"),
    [
        ("outside", (700,), "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("trap", (719,), "CUDA_ERROR_"),
        ("claim", (710,), "CUDA_ERROR_ASSERT"),
    ],
)
def test_a_fault_is_told_and_keeps_to_its_process(kernel: str, codes: tuple[int, ...], words: str) -> None:
    in_child(_fault, kernel, codes, words)
    in_child(_compute)


def _fault(kernel: str, codes: tuple[int, ...], words: str) -> None:
    from conformance.runtimes.hip.errors import HipError

    gpu = Gpu()
    arguments: tuple[Any, ...] = {"outside": (np.zeros(4, np.int32),), "trap": (), "claim": (np.int32(2),)}[kernel]
    with pytest.raises(HipError) as told:
        gpu.launch(kernel, *arguments, block=32)
    assert told.value.code in codes, str(told.value)
    assert told.value.is_fault
    assert f"kernel {kernel}<<<grid (1,1,1), block (32,1,1), 0 bytes shared>>>" in str(told.value)
    assert words in str(told.value)
    with pytest.raises(HipError, match="lost by an earlier fault"):
        gpu.launch("add_one", np.uint64(1), np.zeros(1, np.int32))


def test_no_memory_is_told_and_nothing_is_lost() -> None:
    in_child(_no_memory)


def _no_memory() -> None:
    gpu = Gpu()
    error = gpu.device.hip.hipMalloc(1 << 50)[0]
    assert int(error) == 2
    assert f"hipMalloc: {1 << 50} bytes do not fit on device 0, where " in gpu.runtime.message()
    data = np.zeros(8, np.int32)
    assert np.array_equal(gpu.launch("add_one", np.uint64(8), data)[0], data + 1)


def test_a_source_with_a_mistake_and_a_cuda_source() -> None:
    in_child(_sources)


def _sources() -> None:
    from conformance.toolchains.compile_error import CompileError

    cuda = '#include <stdint.h>\nextern "C" __global__ void add_one(uint64_t n, int32_t *p) { p[0] += int(n); }\n'
    data = np.zeros(1, np.int32)
    gpu = Gpu(cuda, "one.cu")
    assert gpu.launch("add_one", np.uint64(3), data, block=1)[0].tolist() == [3]
    with pytest.raises(CompileError) as failed:
        gpu.device.compile('extern "C" __global__ void k(int *p) { *p = undeclared; }', "k.hip", [])
    assert 'k.hip(1): error: identifier "undeclared" is undefined' in failed.value.log


@pytest.mark.parametrize(
    ("kernel", "functions"),
    [
        ("narrowing", ("f32_to_f16", "f32_to_bf16", "f32_to_f8")),
        ("widening", ("f16_to_f32", "f8_to_f32")),
        ("arithmetic", ("fma_f16", "fma_bf16", "dot4")),
    ],
)
def test_an_instruction_answers_as_the_portable_code(kernel: str, functions: tuple[str, ...]) -> None:
    in_child(_instructions, kernel, functions)


def _instructions(kernel: str, functions: tuple[str, ...]) -> None:
    gpu = Gpu(INSTRUCTIONS.read_text(), "instructions.hip", [f"-I{HEADERS}"])
    wrong = gpu.launch(kernel, np.zeros(len(functions), np.uint32), block=256, grid=1024)[0]
    assert dict(zip(functions, wrong.tolist(), strict=True)) == dict.fromkeys(functions, 0)


def test_a_launch_of_an_empty_kernel_is_timed() -> None:
    in_child(_empty_kernel)


def _empty_kernel() -> None:
    from conformance.cases.launch import Launch
    from conformance.engine.timing.measure import Bench
    from conformance.engine.timing.timer import EMPTY

    gpu = Gpu(EMPTY.text(), EMPTY.label)
    bench = Bench(gpu.device, asynchronous=True, empty=gpu.device.function(gpu.module, EMPTY.path.stem))
    taken = bench.floor_ms(Launch("k", (1 << 16, 1, 1), (1024, 1, 1), 0, ()))
    assert taken is not None
    assert taken > 0
