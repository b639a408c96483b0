"""Which line of standard error tells why a process ended."""

from __future__ import annotations

import pytest

from conformance.processes.child import fault_line, telling_line

FAULT = (
    "Memory access fault by GPU node-1 (Agent handle: 0x55ac14d27600) on address 0x7f9587e00000. "
    "Reason: Page not present or supervisor privilege."
)
HANG = "HW Exception by GPU node-1 (Agent handle: 0x1b0fc990) reason :GPU Hang"
QUEUE = (
    ":0:rocdevice.cpp            :3586: 1945659664 us:  Callback: Queue 0x77791ea00000 aborting with error : "
    "HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception. code: 0x1016"
)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([FAULT, "Failed to fetch queues snapshot.", "GPU core dump failed", "Aborted (core dumped)"], FAULT),
        (
            [FAULT, "Failed to write segment data to pipe: Broken pipe", "GPU coredump: handler exited with error"],
            FAULT,
        ),
        ([HANG, FAULT, "GPU core dump created: gpucore.1067"], FAULT),
        ([HANG, "GPU coredump: execvp failed: No such file or directory", "GPU core dump failed"], HANG),
        ([QUEUE, "a warning of somebody's", "Aborted"], QUEUE),
        (["Kernel Name: k", f"  {QUEUE}"], QUEUE),
        (["one", "two", ""], "two"),
        (["terminate called after throwing an instance of 'int'", "Aborted"], "terminate called after throwing an"),
        (["Aborted"], "Aborted"),
        ([], ""),
    ],
)
def test_the_fault_comes_before_what_follows_it(lines: list[str], told: str) -> None:
    assert telling_line("\n".join(lines)).startswith(told)
    assert bool(telling_line("\n".join(lines))) == bool(told)


def test_only_rocr_and_hip_tell_faults() -> None:
    assert fault_line(f"noise\n{QUEUE}\nAborted") == QUEUE
    assert fault_line("Segmentation fault\nAborted") == ""


def test_a_long_line_is_cut() -> None:
    assert len(telling_line("x" * 1000)) == 300
