"""The device, streams, events, errors and versions, as hip-python shows them."""

from __future__ import annotations

import ctypes
import time

import pytest

from tests.cpu_runtime.machine import Machine, Remote


@pytest.mark.parametrize("wave", [32, 64])
def test_properties_arrive_in_hip_pythons_struct(machine: Remote, wave: int) -> None:
    machine.set(wave=wave)
    assert machine.do(_properties) == ("candle-parity cpu runtime", "x86_64-simt", wave, 1024, 65536, [1024] * 3, 2)


def _properties(machine: Machine) -> tuple[object, ...]:
    hip = machine.hip
    try:
        p = hip.hipGetDeviceProperties(0)[1]
    except TypeError:  # hip-python 7
        p = hip.hipDeviceProp_t()
        hip.hipGetDeviceProperties(p, 0)
    blocks = list(p.maxThreadsDim)
    name, arch = (text if isinstance(text, str) else bytes(text).decode() for text in (p.name, p.gcnArchName))
    return name, arch, p.warpSize, p.maxThreadsPerBlock, p.sharedMemPerBlock, blocks, p.multiProcessorCount


def test_attributes_agree_with_the_properties(machine: Remote) -> None:
    machine.set(wave=64)
    assert machine.do(_attributes) == {"WarpSize": 64, "MaxThreadsPerBlock": 1024, "MultiprocessorCount": 2}


def _attributes(machine: Machine) -> dict[str, int]:
    hip = machine.hip
    names = ("WarpSize", "MaxThreadsPerBlock", "MultiprocessorCount")
    kinds = hip.hipDeviceAttribute_t
    return {name: hip.hipDeviceGetAttribute(getattr(kinds, f"hipDeviceAttribute{name}"), 0)[1] for name in names}


def test_there_is_one_device(machine: Remote) -> None:
    assert machine.do(_devices) == (
        1,
        0,
        101,
        "hipSetDevice: device 1; the candle-parity cpu runtime has device 0 only",
    )


def _devices(machine: Machine) -> tuple[object, ...]:
    hip = machine.hip
    count = hip.hipGetDeviceCount()[1]
    current = hip.hipGetDevice()[1]
    return count, current, int(hip.hipSetDevice(1)[0]), machine.runtime.message()


def test_free_memory_is_no_more_than_all_memory(machine: Remote) -> None:
    free, total = machine.do(_memory)
    assert 0 < free <= total


def _memory(machine: Machine) -> tuple[int, int]:
    _, free, total = machine.hip.hipMemGetInfo()
    return free, total


def test_error_names_are_hips(machine: Remote) -> None:
    assert machine.do(_wrong_error_names) == []


def _wrong_error_names(machine: Machine) -> list[str]:
    """Of the codes that this runtime returns. Names that HIP has twice are the later ones."""
    machine.library.hipGetErrorName.restype = ctypes.c_char_p
    codes = (0, 1, 2, 9, 13, 17, 21, 98, 100, 101, 200, 209, 301, 400, 500, 600, 700, 702, 710, 719, 801, 999)
    names = [(machine.library.hipGetErrorName(code).decode(), machine.hip.hipError_t(code).name) for code in codes]
    return [f"{ours} is {theirs}" for ours, theirs in names if ours != theirs]


def test_events_measure_the_time_between_them(machine: Remote) -> None:
    assert 20 <= machine.do(_elapsed) < 5000


def _elapsed(machine: Machine) -> float:
    hip = machine.hip
    start, end = hip.hipEventCreate()[1], hip.hipEventCreate()[1]
    hip.hipEventRecord(start, None)
    time.sleep(0.02)
    hip.hipEventRecord(end, None)
    hip.hipEventSynchronize(end)
    error, milliseconds = hip.hipEventElapsedTime(start, end)
    assert int(error) == 0
    for event in (start, end):
        assert int(hip.hipEventDestroy(event)[0]) == 0
    return float(milliseconds)


def test_handles_of_streams_and_events_that_are_gone_are_refused(machine: Remote) -> None:
    assert machine.do(_stale) == [400] * 4


def _stale(machine: Machine) -> list[int]:
    hip, library = machine.hip, machine.library
    stream = hip.hipStreamCreate()[1]
    event = hip.hipEventCreate()[1]
    handles = ctypes.c_void_p(int(stream)), ctypes.c_void_p(int(event))
    assert library.hipStreamQuery(handles[0]) == 0
    hip.hipStreamDestroy(stream)
    hip.hipEventDestroy(event)
    calls = (library.hipStreamSynchronize, library.hipStreamDestroy, library.hipEventSynchronize)
    return [call(handle) for call, handle in zip(calls, (handles[0], handles[0], handles[1]), strict=True)] + [
        library.hipEventRecord(handles[1], None)
    ]


def test_functions_can_be_asked_for_their_limits(machine: Remote) -> None:
    assert machine.do(_limits) == (1024, 65536, 8)


def _limits(machine: Machine) -> tuple[int, ...]:
    library, value = machine.library, ctypes.c_int()
    function = ctypes.c_void_p(int(machine.function("axpy")))
    found = []
    for attribute in (0, 8):
        assert library.hipFuncGetAttribute(ctypes.byref(value), attribute, function) == 0
        found.append(value.value)
    occupancy = library.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor
    assert occupancy(ctypes.byref(value), function, 256, ctypes.c_size_t(0)) == 0
    return (*found, value.value)


def test_a_version_is_told(machine: Remote) -> None:
    assert machine.do(_version) >= 70_000_000


def _version(machine: Machine) -> int:
    return int(machine.hip.hipRuntimeGetVersion()[1])


def test_cooperative_launches_are_refused_by_name(machine: Remote) -> None:
    assert machine.do(_cooperative) == (801, True)


def _cooperative(machine: Machine) -> tuple[int, bool]:
    function = ctypes.c_void_p(int(machine.function("nothing")))
    code = machine.library.hipModuleLaunchCooperativeKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None)
    return code, "kernel nothing: cooperative launches" in machine.runtime.message()
