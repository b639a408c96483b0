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
SOURCES = {"cpu": (CPU,), "cuda": (CUDA, *SHARED), "isa": (ISA,), "hiprtc": (HIPRTC,)}

# hipDeviceAttribute_t by number, with CUDA's attribute where the cuda runtime asks the driver.
ATTRIBUTES = {
    1: ("AccessPolicyMaxWindowSize", "access_policy_window"),
    2: ("AsyncEngineCount", "async_engines"),
    3: ("CanMapHostMemory", "can_map_host"),
    4: ("CanUseHostPointerForRegisteredMem", "registered_host_pointer"),
    5: ("ClockRate", "clock_rate"),
    6: ("ComputeMode", "compute_mode"),
    7: ("ComputePreemptionSupported", "preemption"),
    8: ("ConcurrentKernels", "concurrent_kernels"),
    9: ("ConcurrentManagedAccess", "concurrent_managed"),
    10: ("CooperativeLaunch", "cooperative_launch"),
    11: ("CooperativeMultiDeviceLaunch", "cooperative_multi_device"),
    12: ("DeviceOverlap", "overlap"),
    13: ("DirectManagedMemAccessFromHost", "direct_managed_from_host"),
    14: ("GlobalL1CacheSupported", "global_l1"),
    15: ("HostNativeAtomicSupported", "host_native_atomics"),
    16: ("Integrated", "integrated"),
    17: ("IsMultiGpuBoard", "multi_gpu_board"),
    18: ("KernelExecTimeout", "exec_timeout"),
    19: ("L2CacheSize", "l2_cache"),
    20: ("LocalL1CacheSupported", "local_l1"),
    23: ("ComputeCapabilityMajor", "capability_major"),
    24: ("ManagedMemory", "managed_memory"),
    25: ("MaxBlocksPerMultiProcessor", "blocks_per_multiprocessor"),
    26: ("MaxBlockDimX", "max_block_x"),
    27: ("MaxBlockDimY", "max_block_x + 1"),
    28: ("MaxBlockDimZ", "max_block_x + 2"),
    29: ("MaxGridDimX", "max_grid_x"),
    30: ("MaxGridDimY", "max_grid_x + 1"),
    31: ("MaxGridDimZ", "max_grid_x + 2"),
    55: ("MaxThreadsDim", "max_block_x"),
    56: ("MaxThreadsPerBlock", "max_threads_per_block"),
    57: ("MaxThreadsPerMultiProcessor", "threads_per_multiprocessor"),
    58: ("MaxPitch", "max_pitch"),
    59: ("MemoryBusWidth", "memory_bus"),
    60: ("MemoryClockRate", "memory_clock"),
    61: ("ComputeCapabilityMinor", "capability_minor"),
    62: ("MultiGpuBoardGroupID", "multi_gpu_group"),
    63: ("MultiprocessorCount", "multiprocessors"),
    65: ("PageableMemoryAccess", "pageable_access"),
    66: ("PageableMemoryAccessUsesHostPageTables", "pageable_host_tables"),
    67: ("PciBusId", "pci_bus"),
    68: ("PciDeviceId", "pci_device"),
    69: ("PciDomainId", "pci_domain"),
    70: ("PersistingL2CacheMaxSize", "persisting_l2"),
    71: ("MaxRegistersPerBlock", "registers_per_block"),
    72: ("MaxRegistersPerMultiprocessor", "registers_per_multiprocessor"),
    73: ("ReservedSharedMemPerBlock", "reserved_shared"),
    74: ("MaxSharedMemoryPerBlock", "shared_per_block"),
    75: ("SharedMemPerBlockOptin", "shared_optin"),
    76: ("SharedMemPerMultiprocessor", "shared_per_multiprocessor"),
    77: ("SingleToDoublePrecisionPerfRatio", "double_ratio"),
    78: ("StreamPrioritiesSupported", "stream_priorities"),
    79: ("SurfaceAlignment", "surface_alignment"),
    80: ("TccDriver", "tcc"),
    81: ("TextureAlignment", "texture_alignment"),
    82: ("TexturePitchAlignment", "texture_pitch_alignment"),
    83: ("TotalConstantMemory", "constant_memory"),
    84: ("TotalGlobalMem", None),
    85: ("UnifiedAddressing", "unified_addressing"),
    87: ("WarpSize", "warp_size"),
    88: ("MemoryPoolsSupported", "memory_pools"),
    89: ("VirtualMemoryManagementSupported", "virtual_memory"),
    90: ("HostRegisterSupported", "host_register"),
    92: ("HostNumaId", "host_numa"),
    93: ("DmaBufSupported", "dma_buf"),
    10002: ("MaxSharedMemoryPerMultiprocessor", "shared_per_multiprocessor"),
    10015: ("PhysicalMultiProcessorCount", "multiprocessors"),
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


def attributes_of(runtime: str) -> dict[int, str]:
    """The rows of a runtime's table of attributes: number and what answers it."""
    text = text_of((CPU if runtime == "cpu" else CUDA) / "device_api.cpp")
    table = re.search(r"\battributes\[\] = \{(.*?)\n\};", text, re.DOTALL)
    assert table is not None
    return {int(number): answer for number, answer in re.findall(r"\{(\d+), ([^}]*)\}", table[1])}


@pytest.mark.parametrize("runtime", SOURCES)
def test_functions_are_called_as_amd_declares_them(runtime: str, libraries: Libraries, tmp_path: Path) -> None:
    found = functions(text_of(*SOURCES[runtime]))
    assert len(found) > 10
    assert complaints(libraries, check_functions(found), tmp_path) == []


def test_both_runtimes_export_the_same_functions() -> None:
    """But for those that only one of them has a use for."""
    cpu, cuda = (functions(text_of(*SOURCES[name])) for name in ("cpu", "cuda"))
    assert cpu.keys() >= NOT_PUBLIC.keys()
    assert cpu.keys() - cuda.keys() == set()
    assert cuda.keys() - cpu.keys() == {"hipMemsetD8Async", "hipMemsetD16Async", "hipMemsetD32Async"}


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
    text = text_of(CPU / "error.h", CPU / "error.cpp")
    codes = enumerators(text, "Error")
    named = {name: codes.get(code, code) for code, name in re.findall(r'\{(\w+), "(hip\w+)", "', text)}
    numbers = {name: int(code) for name, code in named.items()}
    assert set(codes.values()) <= set(numbers.values())
    assert complaints(libraries, check_numbers(numbers), tmp_path) == []


def test_results_of_hiprtc_have_amds_numbers(libraries: Libraries, tmp_path: Path) -> None:
    text = text_of(HIPRTC)
    codes = enumerators(text, "Result")
    named = dict(re.findall(r'case (\w+):\s*return "(\w+)"', text))
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
    assert attributes_of("cpu").keys() <= ATTRIBUTES.keys()
    assert attributes_of("cuda") == {number: cuda for number, (_, cuda) in ATTRIBUTES.items() if cuda is not None}
    text = text_of(CPU / "device_api.cpp", CUDA / "device_api.cpp")
    for name, number in re.findall(r"\b(attribute_\w+|hip_total_memory) = (\d+)", text):
        words = {
            "attribute_warp_size": "WarpSize",
            "attribute_multiprocessors": "MultiprocessorCount",
            "attribute_physical_multiprocessors": "PhysicalMultiProcessorCount",
            "attribute_total_memory": "TotalGlobalMem",
            "attribute_major": "ComputeCapabilityMajor",
            "attribute_minor": "ComputeCapabilityMinor",
            "hip_total_memory": "TotalGlobalMem",
        }
        assert ATTRIBUTES[int(number)][0] == words[name]


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
