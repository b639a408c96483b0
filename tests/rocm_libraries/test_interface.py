"""Our runtimes' functions, numbers and structs, held by a compiler against AMD's headers of each release."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from conformance.toolchains.host import NoCompiler, find_toolchain
from tests.rocm_libraries.interface import (
    COMPARED,
    CPU,
    CUDA,
    HIPRTC,
    ISA,
    NOT_PUBLIC,
    check_fields,
    check_functions,
    check_numbers,
    enumerators,
    fields,
    functions,
    structure,
    text_of,
)
from tests.rocm_libraries.libraries import Libraries

SHARED = tuple(CPU / name for name in ("api.h", "common_api.cpp", "error.h", "error.cpp"))
HOST_CODE = CPU.parent / "host_code"
"""What a program's kernels on the host and the isa runtime have in common."""
SOURCES = {"cpu": (CPU,), "cuda": (CUDA, *SHARED), "isa": (ISA, HOST_CODE), "hiprtc": (HIPRTC,)}

# hipDeviceAttribute_t by number, with the CUdevice_attribute that the cuda runtime asks the driver for.
ATTRIBUTES = {
    1: ("AccessPolicyMaxWindowSize", 109),
    2: ("AsyncEngineCount", 40),
    3: ("CanMapHostMemory", 19),
    4: ("CanUseHostPointerForRegisteredMem", 91),
    5: ("ClockRate", 13),
    6: ("ComputeMode", 20),
    7: ("ComputePreemptionSupported", 90),
    8: ("ConcurrentKernels", 31),
    9: ("ConcurrentManagedAccess", 89),
    10: ("CooperativeLaunch", 95),
    11: ("CooperativeMultiDeviceLaunch", 96),
    12: ("DeviceOverlap", 15),
    13: ("DirectManagedMemAccessFromHost", 101),
    14: ("GlobalL1CacheSupported", 79),
    15: ("HostNativeAtomicSupported", 86),
    16: ("Integrated", 18),
    17: ("IsMultiGpuBoard", 84),
    18: ("KernelExecTimeout", 17),
    19: ("L2CacheSize", 38),
    20: ("LocalL1CacheSupported", 80),
    23: ("ComputeCapabilityMajor", 75),
    24: ("ManagedMemory", 83),
    25: ("MaxBlocksPerMultiProcessor", 106),
    26: ("MaxBlockDimX", 2),
    27: ("MaxBlockDimY", 3),
    28: ("MaxBlockDimZ", 4),
    29: ("MaxGridDimX", 5),
    30: ("MaxGridDimY", 6),
    31: ("MaxGridDimZ", 7),
    55: ("MaxThreadsDim", 2),
    56: ("MaxThreadsPerBlock", 1),
    57: ("MaxThreadsPerMultiProcessor", 39),
    58: ("MaxPitch", 11),
    59: ("MemoryBusWidth", 37),
    60: ("MemoryClockRate", 36),
    61: ("ComputeCapabilityMinor", 76),
    62: ("MultiGpuBoardGroupID", 85),
    63: ("MultiprocessorCount", 16),
    65: ("PageableMemoryAccess", 88),
    66: ("PageableMemoryAccessUsesHostPageTables", 100),
    67: ("PciBusId", 33),
    68: ("PciDeviceId", 34),
    69: ("PciDomainId", 50),
    70: ("PersistingL2CacheMaxSize", 108),
    71: ("MaxRegistersPerBlock", 12),
    72: ("MaxRegistersPerMultiprocessor", 82),
    73: ("ReservedSharedMemPerBlock", 111),
    74: ("MaxSharedMemoryPerBlock", 8),
    75: ("SharedMemPerBlockOptin", 97),
    76: ("SharedMemPerMultiprocessor", 81),
    77: ("SingleToDoublePrecisionPerfRatio", 87),
    78: ("StreamPrioritiesSupported", 78),
    79: ("SurfaceAlignment", 30),
    80: ("TccDriver", 35),
    81: ("TextureAlignment", 14),
    82: ("TexturePitchAlignment", 51),
    83: ("TotalConstantMemory", 9),
    84: ("TotalGlobalMem", None),
    85: ("UnifiedAddressing", 41),
    87: ("WarpSize", 10),
    88: ("MemoryPoolsSupported", 115),
    89: ("VirtualMemoryManagementSupported", 102),
    90: ("HostRegisterSupported", 99),
    92: ("HostNumaId", 134),
    93: ("DmaBufSupported", 124),
    10002: ("MaxSharedMemoryPerMultiprocessor", 81),
    10015: ("PhysicalMultiProcessorCount", 16),
}
OPTIONAL = ("hipDeviceAttributePciDomainId", "hipDeviceAttributeHostNumaId", "hipDeviceAttributeDmaBufSupported")
"""Newer than a release of the rows, or spelled otherwise in it."""

FILLERS = {"textures_and_surfaces", "host_and_pool_features", "cooperative_unmatched"}
"""Our names for runs of fields of hipDeviceProp_t that no runtime of ours fills in."""

POINTER_FIELDS = {
    "type": "type",
    "device": "device",
    "device_pointer": "devicePointer",
    "host_pointer": "hostPointer",
    "is_managed": "isManaged",
    "flags": "allocationFlags",
}


def complaints(libraries: Libraries, assertions: str, folder: Path) -> list[str]:
    """What a compiler says to ``assertions`` after AMD's headers."""
    try:
        toolchain = find_toolchain(links_standard_library=True)
    except NoCompiler as missing:
        pytest.skip(str(missing))
    source = folder / "interface.cpp"
    source.write_text(f"{COMPARED}\n{assertions}\n")
    words = ["-std=c++17", "-D__HIP_PLATFORM_AMD__", "-isystem", str(libraries.include), "-fsyntax-only"]
    done = subprocess.run(
        [*toolchain.compiler, *words, "-w", "-ferror-limit=0", str(source)], capture_output=True, text=True, check=False
    )
    said = re.findall(r"error: (.*)", done.stderr)
    assert bool(said) == bool(done.returncode), done.stderr
    return said


def attributes() -> dict[int, int]:
    """The table of attributes: by HIP's number, what the driver of CUDA is asked for."""
    text = (CPU.parent / "include/simt/attributes.inc").read_text()
    rows = re.findall(r"^(?:FIELD|ALONE)\((\d+), (\d+), ", text, re.MULTILINE)
    return {int(hip): int(cuda) for hip, cuda in rows}


@pytest.mark.nightly("compiles against AMD's headers of two releases")
@pytest.mark.parametrize("runtime", SOURCES)
def test_functions_are_called_as_amd_declares_them(runtime: str, libraries: Libraries, tmp_path: Path) -> None:
    found = functions(text_of(*SOURCES[runtime]))
    assert len(found) > 10
    assert complaints(libraries, check_functions(found), tmp_path) == []


def test_both_runtimes_export_the_same_functions() -> None:
    """But for those that only one of them has a use for."""
    cpu, cuda = (functions(text_of(*SOURCES[name])) for name in ("cpu", "cuda"))
    assert cpu.keys() >= NOT_PUBLIC.keys()
    assert cpu.keys() - cuda.keys() == {"hipStreamGetDevice"}, "asked by programs under `emulate` alone"
    assert cuda.keys() - cpu.keys() == {"hipMemsetD8Async", "hipMemsetD16Async", "hipMemsetD32Async"}


@pytest.mark.slow("compiles against AMD's headers of two releases")
def test_a_difference_is_told(libraries: Libraries, tmp_path: Path) -> None:
    """What the comparison is worth: an argument too few, one of another size, a value for a pointer, another number."""
    wrong = {
        "hipFree": ("int", ""),
        "hipMalloc": ("int", "void **p, unsigned bytes"),
        "hipEventElapsedTime": ("int", "float milliseconds, void *from, void *to"),
        "hipMemGetInfo": ("int", "int *available, int *total"),
        "hipNothing": ("int", "int"),
    }
    said = complaints(libraries, check_functions(wrong), tmp_path)
    assert len(said) == len(wrong)
    assert all(any(name in line for line in said) for name in wrong)
    assert len(complaints(libraries, check_numbers({"hipErrorNotFound": 501}), tmp_path)) == 1
    body = "int device, type; void *devicePointer, *hostPointer; int isManaged; unsigned allocationFlags;"
    same = {name: name for name in fields(body)}
    assert len(complaints(libraries, check_fields(body, "hipPointerAttribute_t", same), tmp_path)) == 2


def test_error_codes_have_amds_numbers_and_names(libraries: Libraries, tmp_path: Path) -> None:
    rows = re.findall(r"^HIP_ERROR\((\w+), (\d+), ", (CPU.parent / "include/simt/errors.inc").read_text(), re.MULTILINE)
    numbers = {f"hipError{name}": int(code) for name, code in rows}
    assert len(numbers) > 40
    assert complaints(libraries, check_numbers(numbers), tmp_path) == []


def test_results_of_hiprtc_have_amds_numbers(libraries: Libraries, tmp_path: Path) -> None:
    text = text_of(HIPRTC)
    codes = enumerators(text, "Result")
    named = dict(re.findall(r'\{(\w+), "(HIPRTC_\w+)"\}', text))
    assert named.keys() == codes.keys()
    assert complaints(libraries, check_numbers({named[key]: code for key, code in codes.items()}), tmp_path) == []


def test_directions_memory_types_and_function_attributes_have_amds_numbers(
    libraries: Libraries, tmp_path: Path
) -> None:
    cpu = enumerators(text_of(CPU / "api.h"), "MemcpyKind")
    numbers = {f"hipMemcpy{'Default' if name == 'AnyToAny' else name}": number for name, number in cpu.items()}
    numbers |= {f"hipMemoryType{name}": at for at, name in enumerate(("Unregistered", "Host", "Device", "Managed"))}
    of_cpu = enumerators(text_of(CPU / "module_api.cpp").partition(" hipFuncGetAttribute(")[2], "")
    of_cuda = enumerators(text_of(CUDA / "module_api.cpp"), "")
    numbers |= {
        "HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK": of_cpu["MaxThreadsPerBlock"],
        "HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": of_cpu["MaxDynamicShared"],
        "HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES": of_cuda["shared_bytes"],
        "HIP_FUNC_ATTRIBUTE_NUM_REGS": of_cuda["registers"],
    }
    assert of_cuda["max_threads"] == of_cpu["MaxThreadsPerBlock"]
    assert of_cuda["max_dynamic_shared"] == of_cpu["MaxDynamicShared"]
    assert complaints(libraries, check_numbers(numbers), tmp_path) == []


def test_device_attributes_have_amds_numbers(libraries: Libraries, tmp_path: Path) -> None:
    numbers = {f"hipDeviceAttribute{name}": number for number, (name, _) in ATTRIBUTES.items()}
    assert complaints(libraries, check_numbers(numbers, OPTIONAL), tmp_path) == []


def test_the_runtimes_answer_the_attributes_that_the_numbers_mean() -> None:
    assert attributes() == {number: cuda for number, (_, cuda) in ATTRIBUTES.items() if cuda is not None}
    text = text_of(CPU / "device_api.cpp", CUDA / "device_api.cpp")
    numbers = re.findall(r"\b(?:attribute|hip)_total_memory = (\d+)", text)
    assert [ATTRIBUTES[int(number)][0] for number in numbers] == ["TotalGlobalMem"] * 2


def test_device_properties_lie_where_amds_do(libraries: Libraries, tmp_path: Path) -> None:
    body = structure(text_of(CPU.parent / "include/simt/properties.h"), "DeviceProperties").replace(
        "std::size_t", "size_t"
    )
    names = {name: name for name in fields(body) if name not in FILLERS}
    assert "gcnArchName" in names
    assert complaints(libraries, check_fields(body, "hipDeviceProp_t", names), tmp_path) == []


def test_pointer_attributes_lie_where_amds_do(libraries: Libraries, tmp_path: Path) -> None:
    body = structure(text_of(CPU / "api.h"), "PointerAttributes")
    assert list(fields(body)) == list(POINTER_FIELDS)
    assert complaints(libraries, check_fields(body, "hipPointerAttribute_t", POINTER_FIELDS), tmp_path) == []
