"""The device layer on the cpu runtime: what is kept, what an error carries, and the canaries of other runtimes.

The runtime belongs to a process, so everything happens in one child process that answers with what it saw.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

CHILD = r"""
import json
import numpy as np
from conformance.cases.launch import Buffer, Launch, Scalar
from conformance.runtimes.hip.errors import HipError
from conformance.toolchains.compile_error import CompileError
from tests.device import LaunchingDevice
from conformance.runtimes import open_runtime

SOURCE = '''#include <hip/hip_runtime.h>
extern "C" __global__ void twice(const float *in, float *out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 2 * in[i];
}
extern "C" __global__ void fault(float *out) { if (threadIdx.x == 5) out[1 << 30] = 1; }
extern "C" __global__ void outside(float *out, int n) { out[-1] = 1; out[n] = 2; out[n + 1] = 3; }
'''
runtime = open_runtime("cpu", wave=64, threads=1)
device = LaunchingDevice(runtime)
code = device.compile(SOURCE, "three.hip", [])
module = device.load(code)
said = {"same module": device.load(bytes(code)) is module}
said["same function"] = device.function(module, "twice") is device.function(module, "twice")
said["no function"] = device.function(module, "thrice")


def launch(name, *args, block=32):
    return Launch(name, (1, 1, 1), (block, 1, 1), 0, args)


def buffer(name, count, start=0):
    return Buffer(name, "f32", "inout", np.arange(count, dtype=np.float32), start)


n = Scalar("n", "int", np.int32(4))
result = device.launch(device.function(module, "twice"), launch("twice", buffer("in", 4), buffer("out", 6, 1), n))
said["out"] = result.buffers["out"].tolist()
said["in"] = result.buffers["in"].tolist()
for key, name, args, block in (
    ("fault", "fault", (buffer("out", 4),), 32),
    ("geometry", "fault", (buffer("out", 4),), 4096),
):
    try:
        device.launch(device.function(module, name), launch(name, *args, block=block))
    except HipError as error:
        said[key] = [error.call, error.code, error.is_fault, str(error)]
try:
    device.load(b"\x7fELF" + bytes(100), "short.hsaco")
except HipError as error:
    said["load"] = str(error)
try:
    device.compile("#include <hip/hip_runtime.h>\nint broken(", "broken.hip", [])
except CompileError as error:
    said["compile"] = [str(error), error.log]

twice, floats = device.function(module, "twice"), np.arange(4, dtype=np.float32)
a, b, c = (device.allocate(16) for _ in range(3))
prepared = {
    to: device.prepare(twice, launch("twice", buffer("in", 4), buffer("out", 4), n), {"in": a, "out": to})
    for to in (b, c)
}
first, last = device.event(), device.event()
device.upload(a, floats)
device.fill(b, 0xFF, 16)
device.copy(c, b, 16)
device.mark(first)
prepared[b].start()
device.mark(last)
device.synchronize()
there = [np.empty(4, np.float32) for _ in range(2)]
for place, address in zip(there, (b, c)):
    device.check("hipMemcpy", device.hip.hipMemcpy(place, address, 16, device.hip.hipMemcpyKind.hipMemcpyDeviceToHost))
said["prepared"] = [there[0].tolist(), there[1].view(np.uint8).tolist()]
said["milliseconds"] = [device.milliseconds(first, first), device.milliseconds(first, last)]
prepared[c].start()
device.synchronize()
device.check("hipMemcpy", device.hip.hipMemcpy(there[1], c, 16, device.hip.hipMemcpyKind.hipMemcpyDeviceToHost))
said["again"] = there[1].tolist()
taken = device.resources(twice, launch("twice", block=64))
said["resources"] = [taken.local, taken.shared, taken.blocks * 64, device.threads_per_multiprocessor]
for address in (a, b, c):
    device.free(address)
said["too large"] = ""
try:
    device.allocate(1 << 60)
except HipError as error:
    said["too large"] = str(error)
try:
    device.prepare(device.function(module, "fault"), launch("fault", buffer("out", 4)), {"out": 0}).start()
    device.synchronize("the fault")
except HipError as error:
    said["started"] = [error.is_fault, str(error)]

held = []
for size in range(1 << 20, 8 << 20, 1 << 18):
    device.give_back(device.take(size), size)
    held.append(runtime.live()[1])
again = device.take(size)
device.give_back(again, size)
said["held"] = [max(held), device.take(size) == again]

runtime.set_option("guard", 0)  # as on a GPU: nothing but the harness's own canaries
runtime.guards_memory = False
unguarded = LaunchingDevice(runtime)
outside = unguarded.function(unguarded.load(code), "outside")
result = unguarded.launch(outside, launch("outside", buffer("out", 4), n, block=1))
said["damaged"] = result.damaged
said["inside"] = result.buffers["out"].tolist()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", CHILD], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_a_module_is_loaded_once_per_content(said):
    assert said["same module"]


def test_functions_are_kept_and_a_missing_one_is_none(said):
    assert said["same function"]
    assert said["no function"] is None


def test_memory_is_kept_for_the_next_of_its_size_up_to_a_limit(said):
    most, again = said["held"]
    assert again
    assert most < 40 << 20


def test_a_launch_gets_the_address_of_the_start_and_gives_whole_buffers_back(said):
    assert said["out"] == [0, 0, 2, 4, 6, 5]
    assert said["in"] == [0, 1, 2, 3]


def test_an_error_carries_the_call_its_code_and_what_was_launched(said):
    call, code, is_fault, text = said["fault"]
    assert (call, code, is_fault) == ("hipModuleLaunchKernel", 700, True)
    for word in ("hipErrorIllegalAddress", "fault<<<grid (1,1,1), block (32,1,1), 0 bytes shared>>>", "thread"):
        assert word in text
    assert not said["geometry"][2]
    assert "block (4096,1,1)" in said["geometry"][3]


def test_a_code_object_that_does_not_load_is_named(said):
    assert "hipModuleLoadData" in said["load"]
    assert "short.hsaco" in said["load"]


def test_a_source_that_does_not_compile_gives_the_first_error_and_the_log(said):
    text, log = said["compile"]
    assert text.startswith("broken.hip does not compile:")
    assert "broken.hip:2" in log


def test_without_guard_pages_canaries_tell_writes_on_both_sides(said):
    assert said["damaged"] == {"out": "4 bytes before and 8 bytes after the buffer were overwritten"}
    assert said["inside"] == [0, 1, 2, 3]


def test_a_prepared_launch_uses_the_memory_that_it_was_given(said):
    assert said["prepared"] == [[0, 2, 4, 6], [0xFF] * 16]
    assert said["again"] == [0, 2, 4, 6]


def test_events_tell_the_time_between_them(said):
    none, some = said["milliseconds"]
    assert none == 0
    assert some >= 0


def test_a_function_tells_what_it_takes_and_how_much_of_it_is_resident(said):
    local, shared, threads, most = said["resources"]
    assert (local, shared) == (0, 0)
    assert 64 <= threads <= most


def test_memory_that_is_not_there_is_an_error_with_its_size(said):
    assert "hipMalloc" in said["too large"]
    assert f"{1 << 60} bytes" in said["too large"]


def test_a_launch_that_was_only_started_faults_too(said):
    is_fault, text = said["started"]
    assert is_fault
    assert "fault<<<" in text
