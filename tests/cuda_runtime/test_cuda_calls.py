"""Every HIP call leads to the right calls of the driver, with the right arguments."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import pytest

from tests.cuda_runtime.machine import IMAGE, Machine, in_child

pytestmark = pytest.mark.usefixtures("over_stand_ins")

H2D, D2H, D2D, ANY = 1, 2, 3, 4


def test_the_device_is_taken_once_and_by_the_first_call_that_needs_it() -> None:
    in_child(_device_is_taken_once)


def _device_is_taken_once() -> None:
    machine = Machine()
    count = ctypes.c_int()
    assert machine.good("hipGetDeviceCount", ctypes.byref(count)) == ["cuInit 0"]
    assert count.value == 2
    assert machine.good("hipDeviceSynchronize") == [
        "cuDeviceGet 0",
        "cuDevicePrimaryCtxRetain 0",
        f"cuCtxSetCurrent #{0xC0}",
        "cuCtxSynchronize",
    ]
    assert machine.good("hipDeviceSynchronize") == ["cuCtxSynchronize"]
    taken = ["cuDeviceGet 1", "cuDevicePrimaryCtxRetain 1", f"cuCtxSetCurrent #{0xC1}"]
    assert machine.good("hipSetDevice", 1) == taken
    assert machine.good("hipSetDevice", 0) == [f"cuCtxSetCurrent #{0xC0}"]
    assert machine.good("hipDeviceReset") == ["cuDevicePrimaryCtxReset_v2 0"]
    assert "cuDevicePrimaryCtxRetain 0" in machine.good("hipDeviceSynchronize")
    assert machine.bad("hipSetDevice", 2) == (101, "hipSetDevice: there is no device 2; the driver shows 2")


def test_properties_and_attributes_are_the_drivers() -> None:
    in_child(_properties)


def _properties() -> None:
    from conformance.runtimes.cuda.control import open_cuda_runtime

    runtime = open_cuda_runtime()
    from hip import hip

    try:
        error, p = hip.hipGetDeviceProperties(1)  # type: ignore[no-untyped-call]
    except TypeError:  # hip-python 7
        p = hip.hipDeviceProp_t()  # type: ignore[no-untyped-call]
        (error,) = hip.hipGetDeviceProperties(p, 1)  # type: ignore[no-untyped-call, call-arg]
    assert int(error) == 0, runtime.message()
    assert [text if isinstance(text, str) else text.decode() for text in (p.name, p.gcnArchName)] == [
        "Stand-in 1",
        "sm_90",
    ]
    assert (p.warpSize, p.major, p.minor) == (32, 9, 0)
    assert p.totalGlobalMem == 80 << 30
    assert (p.maxThreadsPerBlock, p.sharedMemPerBlock, p.multiProcessorCount) == (1024, 49152, 1016)
    assert list(p.maxThreadsDim) == [1002, 1003, 1004]
    assert list(p.maxGridSize) == [1005, 1006, 1007]
    assert (p.l2CacheSize, p.memoryBusWidth, p.clockRate) == (1038, 1037, 1013)
    assert (p.sharedMemPerBlockOptin, p.regsPerMultiprocessor) == (1097, 1082)
    attributes = hip.hipDeviceAttribute_t
    wanted = {
        attributes.hipDeviceAttributeWarpSize: 32,
        attributes.hipDeviceAttributeMultiprocessorCount: 1016,
        attributes.hipDeviceAttributeMaxGridDimY: 1006,
        attributes.hipDeviceAttributeL2CacheSize: 1038,
        attributes.hipDeviceAttributeSharedMemPerBlockOptin: 1097,
        attributes.hipDeviceAttributeMaxRegistersPerBlock: 1012,
        attributes.hipDeviceAttributeComputeCapabilityMajor: 9,
        attributes.hipDeviceAttributeMemoryClockRate: 1036,
        attributes.hipDeviceAttributeTotalGlobalMem: 2**31 - 1,
        attributes.hipDeviceAttributeHdpMemFlushCntl: 0,
    }
    answers = {key: hip.hipDeviceGetAttribute(key, 0)[1] for key in wanted}  # type: ignore[no-untyped-call]
    assert answers == wanted


def test_memory_calls() -> None:
    in_child(_memory)


def _memory() -> None:
    machine = Machine()
    machine.good("hipDeviceSynchronize")
    size = ctypes.c_size_t
    zero, one, two = (machine.pointer("hipMalloc", size(bytes)) for bytes in (16, 512, 512))
    later = ctypes.c_void_p((one.value or 0) + 256)
    host = ctypes.create_string_buffer(bytes(range(16)), 16)
    back = ctypes.create_string_buffer(16)
    stream = ctypes.c_void_p(0x77)
    rows: list[tuple[str, tuple[Any, ...], list[str]]] = [
        ("hipMemcpy", (zero, host, size(16), H2D), ["cuMemcpyHtoD_v2 mem0 host 16"]),
        ("hipMemcpy", (later, zero, size(16), D2D), ["cuMemcpyDtoD_v2 mem1+256 mem0 16"]),
        ("hipMemcpy", (back, later, size(16), D2H), ["cuMemcpyDtoH_v2 host mem1+256 16"]),
        ("hipMemcpy", (two, one, size(9), ANY), ["cuMemcpy mem2 mem1 9"]),
        ("hipMemcpy", (two, one, size(0), H2D), []),
        ("hipMemcpyHtoD", (zero, host, size(16)), ["cuMemcpyHtoD_v2 mem0 host 16"]),
        ("hipMemcpyDtoH", (back, zero, size(16)), ["cuMemcpyDtoH_v2 host mem0 16"]),
        ("hipMemcpyDtoD", (one, zero, size(16)), ["cuMemcpyDtoD_v2 mem1 mem0 16"]),
        ("hipMemcpyAsync", (one, host, size(16), H2D, stream), ["cuMemcpyHtoDAsync_v2 mem1 host 16 #119"]),
        ("hipMemcpyAsync", (back, one, size(16), D2H, stream), ["cuMemcpyDtoHAsync_v2 host mem1 16 #119"]),
        ("hipMemcpyAsync", (two, one, size(16), D2D, stream), ["cuMemcpyDtoDAsync_v2 mem2 mem1 16 #119"]),
        ("hipMemcpyAsync", (two, one, size(16), ANY, stream), ["cuMemcpyAsync mem2 mem1 16 #119"]),
        (
            "hipMemcpyWithStream",
            (two, one, size(16), D2D, stream),
            ["cuMemcpyDtoDAsync_v2 mem2 mem1 16 #119", "cuStreamSynchronize #119"],
        ),
        (
            "hipMemcpy2D",
            (one, size(64), host, size(8), size(4), size(2), H2D),
            ["cuMemcpy2DUnaligned_v2 1 host ? 8 2 null mem1 64 4 2 #0"],
        ),
        (
            "hipMemcpy2DAsync",
            (back, size(8), one, size(64), size(4), size(2), D2H, stream),
            ["cuMemcpy2DAsync_v2 2 null mem1 64 1 host ? 8 4 2 #119"],
        ),
        ("hipMemset", (one, 0x1FF, size(5)), ["cuMemsetD8_v2 mem1 255 5"]),
        ("hipMemsetAsync", (one, 7, size(5), stream), ["cuMemsetD8Async mem1 7 5 #119"]),
        ("hipMemsetD8", (one, 3, size(5)), ["cuMemsetD8_v2 mem1 3 5"]),
        ("hipMemsetD16", (one, 0x1234, size(5)), ["cuMemsetD16_v2 mem1 4660 5"]),
        ("hipMemsetD32", (one, -1, size(5)), ["cuMemsetD32_v2 mem1 4294967295 5"]),
        ("hipMemsetD16Async", (one, 5, size(5), stream), ["cuMemsetD16Async mem1 5 5 #119"]),
        ("hipMemsetD32Async", (one, 5, size(5), stream), ["cuMemsetD32Async mem1 5 5 #119"]),
        ("hipFreeAsync", (two, stream), ["cuMemFreeAsync mem2 #119"]),
        ("hipFree", (one,), ["cuMemFree_v2 mem1"]),
        ("hipFree", (None,), []),
    ]
    for call, arguments, expected in rows:
        assert machine.good(call, *arguments) == expected, call
    assert back.raw == host.raw
    place = ctypes.c_void_p()
    assert machine.good("hipMalloc", ctypes.byref(place), size(0)) == []
    assert place.value is None
    assert machine.good("hipMallocManaged", ctypes.byref(place), size(64), 1) == ["cuMemAllocManaged 64 1"]
    assert machine.good("hipHostMalloc", ctypes.byref(place), size(64), 0x20000003) == ["cuMemHostAlloc 64 3"]
    assert machine.good("hipHostFree", place) == ["cuMemFreeHost host"]
    assert machine.good("hipMallocAsync", ctypes.byref(place), size(8), stream) == ["cuMemAllocAsync 8 #119"]
    available, total = size(), size()
    assert machine.good("hipMemGetInfo", ctypes.byref(available), ctypes.byref(total)) == ["cuMemGetInfo_v2"]
    assert (available.value, total.value) == (1000, 2000)
    machine.good("hipMemGetAddressRange", ctypes.byref(place), ctypes.byref(total), later)
    assert (place.value, total.value) == (one.value, 512)
    attributes = ctypes.create_string_buffer(32)
    machine.good("hipPointerGetAttributes", attributes, zero)
    assert struct.unpack("iiQQii", attributes.raw) == (2, 1, zero.value, 0, 0, 0)
    assert machine.bad("hipMemcpy", zero, host, size(1), 9)[0] == 21
    assert machine.bad("hipMemcpy", zero, None, size(1), H2D) == (1, "hipMemcpy: the source is null")


def test_streams_and_events() -> None:
    in_child(_streams)


def _streams() -> None:
    machine = Machine()
    machine.good("hipDeviceSynchronize")
    place = ctypes.c_void_p()
    assert machine.good("hipStreamCreate", ctypes.byref(place)) == ["cuStreamCreate 0"]
    assert machine.good("hipStreamCreateWithFlags", ctypes.byref(place), 1) == ["cuStreamCreate 1"]
    assert machine.good("hipStreamCreateWithPriority", ctypes.byref(place), 1, -2) == [
        "cuStreamCreateWithPriority 1 -2"
    ]
    stream = machine.pointer("hipStreamCreate")
    assert machine.good("hipEventCreateWithFlags", ctypes.byref(place), 0x80000002) == ["cuEventCreate 2"]
    start, end = machine.pointer("hipEventCreate"), machine.pointer("hipEventCreate")
    s, e, f = (f"#{handle.value}" for handle in (stream, start, end))
    assert machine.good("hipEventRecord", start, stream) == [f"cuEventRecord {e} {s}"]
    assert machine.good("hipEventRecord", end, None) == [f"cuEventRecord {f} #0"]
    assert machine.good("hipEventSynchronize", end) == [f"cuEventSynchronize {f}"]
    elapsed = ctypes.c_float()
    assert machine.good("hipEventElapsedTime", ctypes.byref(elapsed), start, end) == [f"cuEventElapsedTime {e} {f}"]
    assert elapsed.value == 1.5
    assert machine.good("hipStreamWaitEvent", stream, end, 0) == [f"cuStreamWaitEvent {s} {f} 0"]
    assert machine.good("hipStreamSynchronize", stream) == [f"cuStreamSynchronize {s}"]
    flags = ctypes.c_uint()
    assert machine.good("hipStreamGetFlags", stream, ctypes.byref(flags)) == [f"cuStreamGetFlags {s}"]
    assert flags.value == 1
    priority = ctypes.c_int()
    machine.good("hipStreamGetPriority", stream, ctypes.byref(priority))
    assert priority.value == -3
    machine.script("cuStreamQuery", 600)
    assert machine.hip.hipStreamQuery(stream) == 600
    assert machine.hip.hipGetLastError() == 0, "not ready is not an error"
    assert machine.good("hipEventDestroy", start) == [f"cuEventDestroy_v2 {e}"]
    assert machine.good("hipStreamDestroy", stream) == [f"cuStreamDestroy_v2 {s}"]


def test_modules_functions_and_launches() -> None:
    in_child(_modules)


def _modules() -> None:
    machine = Machine()
    machine.good("hipDeviceSynchronize")
    module = ctypes.c_void_p()
    loaded = machine.good("hipModuleLoadData", ctypes.byref(module), IMAGE)
    assert loaded == ["cuModuleLoadDataEx options 3 4 5 6"]
    m = f"#{module.value}"
    function = ctypes.c_void_p()
    got = machine.good("hipModuleGetFunction", ctypes.byref(function), module, b"three")
    assert got == [f"cuModuleGetFunction {m} three"]
    values = (ctypes.c_uint64(0x0102030405060708), ctypes.c_int32(-2), ctypes.c_uint8(9))
    machine.calls()
    assert machine.launch(function, *values, grid=5, block=64, shared=100) == 0
    assert machine.calls() == [
        "cuFuncGetAttribute 1 three",
        "cuLaunchKernel three 5 1 1 64 1 1 100 #0 arguments 0807060504030201 feffffff 09",
    ]
    # Packed arguments: HIP's keys are 1, 2 and 3; CUDA's are 1, 2 and 0.
    packed, bytes_ = ctypes.create_string_buffer(b"abcdefghijklm", 13), ctypes.c_size_t(13)
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(packed), 2, ctypes.addressof(bytes_), 3)
    stream = ctypes.c_void_p(0x77)
    machine.good("hipModuleLaunchKernel", function, 2, 3, 4, 8, 2, 1, 0, stream, None, extra)
    launched = machine.good("hipModuleLaunchKernel", function, 2, 3, 4, 8, 2, 1, 0, stream, None, extra)
    assert launched == ["cuLaunchKernel three 2 3 4 8 2 1 0 #119 arguments buffer 61626364 size 13"]
    # More dynamic shared memory than 48 KiB together with the kernel's own 1 KiB is asked for, once.
    machine.launch(function, *values, shared=47 * 1024)
    assert not [call for call in machine.calls() if "SetAttribute" in call]
    machine.launch(function, *values, shared=47 * 1024 + 1)
    assert "cuFuncSetAttribute three 8 48129" in machine.calls()
    machine.launch(function, *values, shared=48000)
    assert not [call for call in machine.calls() if "SetAttribute" in call]
    rows: list[tuple[str, tuple[Any, ...], list[str]]] = [
        ("hipFuncSetAttribute", (function, 8, 100000), ["cuFuncSetAttribute three 8 100000"]),
        ("hipFuncSetCacheConfig", (function, 2), ["cuFuncSetCacheConfig three 2"]),
    ]
    for call, arguments, expected in rows:
        assert machine.good(call, *arguments) == expected, call
    number, other = ctypes.c_int(), ctypes.c_int()
    assert machine.good("hipFuncGetAttribute", ctypes.byref(number), 4, function) == ["cuFuncGetAttribute 4 three"]
    assert number.value == 96
    size = ctypes.c_size_t
    call = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"
    asked = machine.good(call, ctypes.byref(number), function, 256, size(512))
    assert asked == ["cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags three 256 512 0"]
    assert number.value == 3
    call = "hipModuleOccupancyMaxPotentialBlockSize"
    asked = machine.good(call, ctypes.byref(number), ctypes.byref(other), function, size(512), 1024)
    assert asked == ["cuOccupancyMaxPotentialBlockSize three 512 1024"]
    assert (number.value, other.value) == (264, 512)
    address, bytes_ = ctypes.c_void_p(), ctypes.c_size_t()
    machine.good("hipModuleGetGlobal", ctypes.byref(address), ctypes.byref(bytes_), module, b"table")
    assert bytes_.value == 64
    text = machine.hip.hipcudaModuleKernels(module)
    assert text == b'[{"name": "add_one", "params": [8, 8]}, {"name": "three", "params": [8, 4, 1]}]'
    assert machine.good("hipModuleUnload", module) == [f"cuModuleUnload {m}"]
    # What belonged to the module is known to be gone: CUDA itself would crash.
    assert machine.launch(function, *values) == 400
    assert "is not a function of a loaded module" in machine.message()
    assert machine.bad("hipModuleUnload", module)[0] == 400


@pytest.mark.slow("starts a process that imports hip-python")
def test_a_kernel_works_on_memory_through_unmodified_hip_python() -> None:
    in_child(_whole_way)


def _whole_way() -> None:
    import numpy as np

    from conformance.cases.launch import Buffer, Launch, Scalar
    from conformance.runtimes.cuda.control import open_cuda_runtime
    from tests.device import LaunchingDevice

    runtime = open_cuda_runtime()
    device = LaunchingDevice(runtime)
    assert (device.name, device.arch, device.wave) == ("Stand-in 0", "sm_90", 32)
    assert runtime.description == "cuda runtime, driver for CUDA 12.8, NVRTC 12.8"
    code = device.compile("// kernel add_one 8 8\n", "kernels/one.hip", ["-Ikernels"])
    module = device.load(code, "kernels/one.hip")
    assert runtime.module_kernels(int(module.handle)) == [
        {"name": "add_one", "line": None, "params": [{"type": None, "size": 8}, {"type": None, "size": 8}]}
    ]
    function = device.function(module, "add_one")
    assert function is not None
    assert device.function(module, "add_two") is None
    data = np.arange(5, dtype=np.int32)
    numel = Scalar("numel", "size_t", np.uint64(5))
    launch = Launch("add_one", (1, 1, 1), (32, 1, 1), 0, (numel, Buffer("p", "i32", "out", data)))
    result = device.launch(function, launch)
    assert result.buffers["p"].tolist() == [1, 2, 3, 4, 5]
    assert result.damaged == {}
    # One element too many: the bytes after the buffer are seen to be overwritten.
    launch = Launch("add_one", (1, 1, 1), (32, 1, 1), 0, (Scalar("numel", "size_t", np.uint64(6)), launch.args[1]))
    assert list(device.launch(function, launch).damaged) == ["p"]


@pytest.mark.slow("compiles the stand-in of the CUDA driver")
def test_the_floor_of_bench_is_a_launch_of_its_empty_kernel_with_the_asked_grid() -> None:
    in_child(_floor)


def _floor() -> None:
    from conformance.cases.launch import Launch
    from conformance.engine.timing.measure import REPEATS, Bench
    from conformance.runtimes.cuda.control import open_cuda_runtime
    from conformance.runtimes.hip.device import Device

    machine = Machine()
    device = Device(open_cuda_runtime())
    function = device.function(device.load(b"kernel empty_kernel\n"), "empty_kernel")
    bench = Bench(device, asynchronous=True, empty=function)
    machine.calls()
    assert bench.floor_ms(Launch("uneg_f32", (7, 2, 1), (64, 1, 1), 512, ())) == 1.5  # what every event says there
    launched = [call for call in machine.calls() if call.startswith("cuLaunchKernel")]
    assert len(launched) >= REPEATS
    assert set(launched) == {"cuLaunchKernel empty_kernel 7 2 1 64 1 1 0 #0 arguments"}
