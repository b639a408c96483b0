"""No driver, no NVRTC, too old ones, no memory, a fault in a kernel: a clear message each, and nothing lost."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cuda_runtime.machine import LIBCUDA, NVRTC, Machine, build_stand_in, in_child

pytestmark = pytest.mark.usefixtures("over_stand_ins")

ROOT = Path(__file__).resolve().parents[2]


def cli(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "conformance.cli.main", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=120)


def one_sentence(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """Exit code 2, and one line on standard error that says ``parts``."""
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for part in parts:
        assert part in done.stderr


# ---- what is missing


@pytest.mark.slow("runs that end in errors, by a stand-in of the CUDA driver")
def test_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIBCUDA, "/nowhere/libcuda.so.1")
    said = cli("run", "uneg_f32", "--runtime", "cuda")
    one_sentence(said, "/nowhere/libcuda.so.1", "cannot be opened", "install NVIDIA's driver", "--runtime cpu")
    in_child(_every_call_says_so)


def _every_call_says_so() -> None:
    machine = Machine()
    place = ctypes.c_void_p()
    for call, arguments in {
        "hipInit": (0,),
        "hipGetDeviceCount": (ctypes.byref(place),),
        "hipMalloc": (ctypes.byref(place), ctypes.c_size_t(8)),
        "hipDeviceSynchronize": (),
        "hipModuleLoadData": (ctypes.byref(place), b"kernel k 8\n"),
    }.items():
        code, message = machine.bad(call, *arguments)
        assert code == 100
        assert "/nowhere/libcuda.so.1" in message


@pytest.mark.slow("runs that end in errors, by a stand-in of the CUDA driver")
def test_without_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NVRTC, "/nowhere/libnvrtc.so.12")
    said = cli("run", "uneg_f32", "--runtime", "cuda")
    one_sentence(said, "/nowhere/libnvrtc.so.12", "pip install nvidia-cuda-nvrtc-cu12", NVRTC, "--runtime cpu")


def test_nvrtc_of_a_later_cuda_than_the_driver() -> None:
    in_child(_nvrtc_too_new)


def _nvrtc_too_new() -> None:
    machine = Machine()
    machine.nvrtc.stand_in_version(13, 1)
    usable = ctypes.c_int(1)
    text = machine.rtc.hipcudaCompiler(ctypes.byref(usable)).decode()
    assert usable.value == 0
    assert "is NVRTC 13.1, too new for a driver for CUDA 12.8" in text
    assert "pip install nvidia-cuda-nvrtc-cu12" in text
    # A program then does not compile, and its log says why.
    handle = ctypes.c_void_p()
    assert machine.rtc.hiprtcCreateProgram(ctypes.byref(handle), b"int x;", b"x.hip", 0, None, None) == 0
    assert machine.rtc.hiprtcCompileProgram(handle, 0, None) == 6
    log = ctypes.create_string_buffer(2048)
    assert machine.rtc.hiprtcGetProgramLog(handle, log) == 0
    assert b"too new for a driver for CUDA 12.8" in log.value


def test_an_nvrtc_that_is_too_old_is_passed_over() -> None:
    in_child(_nvrtc_too_old)


def _nvrtc_too_old() -> None:
    machine = Machine()
    machine.nvrtc.stand_in_version(11, 8)
    assert "is NVRTC 11.8, older than 12.0" in machine.rtc.hipcudaCompiler(None).decode()


def test_a_driver_that_is_too_old() -> None:
    in_child(_driver_too_old)


def _driver_too_old() -> None:
    machine = Machine()
    machine.driver.stand_in_number(b"version", 11040)
    code, message = machine.bad("hipInit", 0)
    assert code == 35
    assert message.endswith("is for CUDA 11.4; CUDA 12.0 or newer is needed: update the driver")
    assert machine.bad("hipMalloc", ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(8)) == (35, message)


def test_no_device() -> None:
    in_child(_no_device)


def _no_device() -> None:
    machine = Machine()
    machine.script("cuInit", 100)
    said = "NVIDIA's driver found no GPU that it can use: cuInit returned CUDA_ERROR_NO_DEVICE, no CUDA-capable device"
    code, message = machine.bad("hipInit", 0)
    assert code == 100
    assert message.startswith(said)


def test_a_device_that_cannot_be_taken() -> None:
    in_child(_device_taken_by_others)


def _device_taken_by_others() -> None:
    machine = Machine()
    machine.script("cuDevicePrimaryCtxRetain", 2)
    code, message = machine.bad("hipSetDevice", 1)
    assert (code, message) == (2, "hipSetDevice: device 1 cannot be opened: CUDA_ERROR_OUT_OF_MEMORY, out of memory")
    machine.script("cuDevicePrimaryCtxRetain", 0)
    machine.good("hipSetDevice", 1)


@pytest.mark.slow("runs that end in errors, by a stand-in of the CUDA driver")
def test_a_driver_before_12_4_cannot_tell_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIBCUDA, str(build_stand_in("driver", tmp_path, "-DWITHOUT_LATER_CALLS")))
    in_child(_no_parameters)


def _no_parameters() -> None:
    machine = Machine()
    machine.driver.stand_in_number(b"version", 12020)
    module = machine.module()
    assert machine.hip.hipcudaModuleKernels(module) is None
    assert machine.message().endswith("the driver is for CUDA 12.2; 12.4 or newer is needed")
    assert machine.launch(machine.function("three", module), *(ctypes.c_uint64(1),) * 3) == 0


# ---- what goes wrong


def test_no_memory() -> None:
    in_child(_no_memory)


def _no_memory() -> None:
    machine = Machine()
    machine.script("cuMemAlloc_v2", 2, after=1)
    first = machine.pointer("hipMalloc", ctypes.c_size_t(64))
    place = ctypes.c_void_p(1)
    said = "hipMalloc: 4096 bytes do not fit on device 0, where 1000 of 2000 bytes are free"
    assert machine.bad("hipMalloc", ctypes.byref(place), ctypes.c_size_t(4096)) == (2, said)
    assert place.value is None
    assert machine.hip.hipPeekAtLastError() == 2
    machine.good("hipMemset", first, 0, ctypes.c_size_t(64))
    assert machine.hip.hipGetLastError() == 2
    assert machine.hip.hipGetLastError() == 0


def test_an_image_that_does_not_load() -> None:
    in_child(_bad_image)


def _bad_image() -> None:
    machine = Machine()
    machine.script("cuModuleLoadDataEx", 218)
    code, message = machine.bad("hipModuleLoadData", ctypes.byref(ctypes.c_void_p()), b"// PTX".ljust(64, b"\0"))
    assert code == 218
    assert "the image does not load: ptxas fatal: line 3: CUDA_ERROR_INVALID_PTX" in message
    machine.script("cuModuleLoadDataEx", 200)
    amd = (b"\x7fELF" + bytes(14) + (224).to_bytes(2, "little")).ljust(64, b"\0")
    code, message = machine.bad("hipModuleLoadData", ctypes.byref(ctypes.c_void_p()), amd)
    assert code == 200
    assert "a code object for an AMD GPU" in message
    assert machine.bad("hipModuleLoad", ctypes.byref(ctypes.c_void_p()), b"/nowhere/k.cubin")[0] == 301


def test_launches_that_cannot_be() -> None:
    in_child(_bad_launches)


def _bad_launches() -> None:
    machine = Machine()
    function = machine.function()
    values = (ctypes.c_uint64(1), ctypes.c_int(1), ctypes.c_uint8(1))
    assert machine.launch(function, *values, grid=0) == 9
    assert "three<<<grid (0,1,1), block (32,1,1), 0 bytes shared>>>: no dimension may be 0" in machine.message()
    assert machine.launch(function, *values, block=1025) == 9
    assert "at most 1024 threads in a block" in machine.message()
    machine.script("cuLaunchKernel", 701)
    assert machine.launch(function, *values, block=1024) == 701
    assert "(96 registers, at most 640 threads in a block): CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" in machine.message()
    machine.script("cuFuncSetAttribute", 1)
    assert machine.launch(function, *values, shared=1 << 20) == 1
    assert "kernel three: 1048576 bytes of dynamic shared memory with its 1024 static ones are more than" in (
        machine.message()
    )
    wrong = (ctypes.c_void_p * 3)(7, 0, 3)
    code, message = machine.bad("hipModuleLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, wrong)
    assert (code, message) == (1, "hipModuleLaunchKernel: kernel three: unknown key 0x7 in extra")
    assert machine.bad("hipModuleGetFunction", ctypes.byref(ctypes.c_void_p()), machine.module(), b"nothing") == (
        500,
        "hipModuleGetFunction: the module has no kernel 'nothing'",
    )


@pytest.mark.slow("runs that end in errors, by a stand-in of the CUDA driver")
@pytest.mark.parametrize(("result", "code"), [(700, 700), (715, 719), (719, 719), (710, 710), (702, 702)])
def test_a_fault_is_told_with_its_launch(result: int, code: int) -> None:
    in_child(_fault, result, code)


def _fault(result: int, code: int) -> None:
    machine = Machine()
    function = machine.function()
    values = (ctypes.c_uint64(1), ctypes.c_int(1), ctypes.c_uint8(1))
    machine.launch(function, *values)
    machine.good("hipDeviceSynchronize")
    machine.launch(function, *values, grid=3, block=96, shared=16)
    machine.script("cuCtxSynchronize", result)
    told, message = machine.bad("hipDeviceSynchronize")
    assert told == code
    launch = "kernel three<<<grid (3,1,1), block (96,1,1), 16 bytes shared>>>: "
    assert message.startswith(f"hipDeviceSynchronize: {launch}")
    assert message.endswith("the device's context is lost: only a new process can use the device again")
    machine.script("cuMemFree_v2", result)
    _, later = machine.bad("hipFree", ctypes.c_void_p(1))
    assert later.startswith(f"hipFree: the device's context was lost by an earlier fault ({launch}")


def test_a_fault_among_several_launches() -> None:
    in_child(_fault_among_several)


def _fault_among_several() -> None:
    machine = Machine()
    function = machine.function()
    for block in (32, 64):
        machine.launch(function, ctypes.c_uint64(1), ctypes.c_int(1), ctypes.c_uint8(1), block=block)
    machine.script("cuCtxSynchronize", 700)
    assert (
        "one of 2 launches since the last synchronisation, the last of them three<<<grid (1,1,1), block (64,1,1)"
        in (machine.bad("hipDeviceSynchronize")[1])
    )


@pytest.mark.slow("runs that end in errors, by a stand-in of the CUDA driver")
def test_a_fault_costs_its_kernel_and_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The stand-in computes nothing: a kernel that runs on a sound context is "fail", not "crash".
    names = ("uneg_f32", "urecip_f32", "uexp_f32")
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    source = "".join(f'// kernel {name} 8 8 8 8 8\nextern "C" {name}\n' for name in names)
    (kernels / "unary.hip").write_text(source)
    monkeypatch.setenv("STAND_IN_FAULT", "urecip_f32")
    record = tmp_path / "record.json"
    done = cli("run", *names, "--runtime", "cuda", "--kernels", kernels, "-j", "1", "--json", record)
    assert done.returncode == 1, done.stderr
    rows = {row["name"]: row for row in json.loads(record.read_text())["kernels"] if row["name"] in names}
    assert {name: row["status"] for name, row in rows.items()} == {
        "uneg_f32": "fail",
        "urecip_f32": "crash",
        "uexp_f32": "fail",
    }
    why = rows["urecip_f32"]["failures"][0]["why"]
    assert "kernel urecip_f32<<<grid (" in why
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in why
    assert rows["urecip_f32"]["cases"] == 1
    assert all("CUDA_ERROR" not in failure["why"] for failure in rows["uexp_f32"]["failures"])


@pytest.mark.slow("runs that end in errors, by a stand-in of the CUDA driver")
def test_a_kernel_with_other_parameters_is_no_match(tmp_path: Path) -> None:
    (tmp_path / "unary.hip").write_text('// kernel uneg_f32 8 8 8 8\n// kernel uneg_u8 8\nextern "C" uneg_f32\n')
    (tmp_path / "affine.hip").write_text('// kernel affine_f32 8 8 8 8 8 4 8\nextern "C" affine_f32\n')
    record = tmp_path / "record.json"
    cli("run", "uneg_f32", "affine_f32", "--runtime", "cuda", "--kernels", tmp_path, "-j", "1", "--json", record)
    rows = {row["name"]: row for row in json.loads(record.read_text())["kernels"]}
    assert rows["uneg_f32"]["status"] == "signature"
    assert rows["affine_f32"]["status"] == "signature"
    assert "parameter 7 is 8 bytes long, Candle's is f32" in str(rows["affine_f32"])
