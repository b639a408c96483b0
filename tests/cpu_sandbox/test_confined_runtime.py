"""A confined process still does all that an executor does, within its limits; and says what guards it."""

from __future__ import annotations

import ctypes
import errno
import importlib
import os
import re
import resource
import signal
import struct
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.runtimes.cpu.control import Limits, NoSandbox
from tests.cpu_sandbox.confined import Ended, Executor, ForkServer, Launched

ILLEGAL_ADDRESS, TIMED_OUT, OUT_OF_MEMORY = 700, 702, 2
MEBIBYTE = 1 << 20


def answer(ended: Ended) -> Any:
    assert ended.code == 0, ended.stderr
    return ended.answer


def one() -> np.ndarray[Any, Any]:
    return np.zeros(1, np.int32)


# ---- what goes on as before


def test_kernels_run_before_and_after(server: ForkServer) -> None:
    assert answer(server.run_before(_before_and_after))


def _before_and_after(executor: Executor) -> bool:
    executor.load()
    before = executor.works()
    executor.confine()
    return before and executor.works()


def test_blocks_run_on_several_os_threads(server: ForkServer) -> None:
    threads, out = answer(server.run(_run_on_four))
    assert out == list(range(0, 2 * 64 * 64, 2))
    assert threads >= 4


def _run_on_four(executor: Executor) -> tuple[int, list[int]]:
    executor.runtime.set_option("threads", 4)
    given = np.arange(64 * 64, dtype=np.int32)
    launched = executor.launch("spins_and_doubles", given, np.zeros_like(given), blocks=64, threads=64)
    return len(os.listdir("/proc/self/task")), launched.out


def test_attempts_on_several_os_threads_end_the_launch_once(server: ForkServer) -> None:
    launched, works_after = answer(server.run(_attempt_on_four))
    assert re.fullmatch(
        r"kernel spins_and_attempts, block \(\d+,0,0\), thread \(0,0,0\): "
        r"called socket\(\), which is forbidden in kernels",
        launched.message,
    )
    assert works_after


def _attempt_on_four(executor: Executor) -> tuple[Launched, bool]:
    executor.runtime.set_option("threads", 4)
    launched = executor.launch("spins_and_attempts", one(), blocks=256, threads=64)
    return launched, executor.works()


def test_what_kernels_print_comes_out(server: ForkServer) -> None:
    ended = server.run(Executor.launch, "prints", np.int32(3))
    assert answer(ended).code == 0
    assert ended.stdout.split() == ["0", "1", "2"]


def test_an_endless_kernel_is_stopped(server: ForkServer) -> None:
    launched, works_after = answer(server.run(_go_wrong, "loops_for_ever"))
    assert launched.code == TIMED_OUT
    assert "still running after 100 ms" in launched.message
    assert works_after


@pytest.mark.parametrize(("milliseconds", "code"), [(250, 0), (60_000, TIMED_OUT)])
def test_the_limit_is_of_computing_time_and_by_the_clock_of_ten_times_as_much(
    server: ForkServer, milliseconds: int, code: int
) -> None:
    """A kernel that waits stands for one that other processes keep from the processor."""
    launched, works_after = answer(server.run(_go_wrong, "sleeps", np.int64(milliseconds), one()))
    assert (launched.code, works_after) == (code, True)


def test_a_stack_overflow_is_caught(server: ForkServer) -> None:
    launched, works_after = answer(server.run(_go_wrong, "overflows_its_stack", one()))
    assert launched.code == ILLEGAL_ADDRESS
    assert "stack overflow" in launched.message
    assert works_after


def test_a_segmentation_fault_is_caught(server: ForkServer) -> None:
    launched, works_after = answer(server.run(_go_wrong, "writes_to_null"))
    assert launched.code == ILLEGAL_ADDRESS
    assert "a null pointer" in launched.message
    assert works_after


def _go_wrong(executor: Executor, kernel: str, *values: Any) -> tuple[Launched, bool]:
    executor.runtime.set_option("timeout_ms", 100)
    return executor.launch(kernel, *values), executor.works()


HARMLESS = {"reads_file": 1, "signals_itself": 1, "joins_thread": 42}


@pytest.mark.parametrize("kernel", HARMLESS)
def test_harmless_calls_are_made(server: ForkServer, kernel: str) -> None:
    assert answer(server.run(Executor.launch, kernel, one())) == Launched(0, "", False, [HARMLESS[kernel]])


def test_files_are_read_but_not_those_of_the_cache(server: ForkServer, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (cache / "verdicts").mkdir(parents=True)
    for file in (cache / "verdicts" / "kept", tmp_path / "beside"):
        file.write_text("1")
    (tmp_path / "link").symlink_to(cache)
    guards, beside, kept, by_link = answer(server.run_before(_read_files, str(tmp_path)))
    if "Landlock" not in guards or "without" in guards:
        pytest.skip(f"no Landlock here: {guards}")
    assert (beside, kept, by_link) == (1, -errno.EACCES, -errno.EACCES)


def _read_files(executor: Executor, folder: str) -> tuple[str, int, int, int]:
    guards = executor.confine(Limits(unread=Path(folder) / "link"))
    executor.load()

    def read(name: str) -> int:
        path = np.frombuffer(f"{folder}/{name}\0".encode(), np.uint8).astype(np.int32)
        (found,) = executor.launch("reads_named_file", path, one()).out
        return found

    return guards, read("beside"), read("cache/verdicts/kept"), read("link/verdicts/kept")


def test_faulthandler_may_be_switched_on_afterwards(server: ForkServer) -> None:
    launched, works_after = answer(server.run(_enable_faulthandler))
    assert launched.code == ILLEGAL_ADDRESS
    assert works_after


def _enable_faulthandler(executor: Executor) -> tuple[Launched, bool]:
    import faulthandler

    faulthandler.enable()
    return executor.launch("writes_to_null"), executor.works()


def test_python_imports_threads_and_shares_memory(server: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "imported_late.py").write_text("value = 7\n")
    assert answer(server.run(_use_python, str(tmp_path))) == [7, 8, 9]
    assert os.listdir(tmp_path) == ["imported_late.py"], "no compiled file is written"


def _use_python(executor: Executor, folder: str) -> list[int]:
    import array
    import mmap
    import socket

    sys.path.insert(0, folder)
    values = [importlib.import_module("imported_late").value]
    thread = threading.Thread(target=lambda: values.append(8))
    thread.start()
    thread.join()
    left, right = executor.sockets
    right.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [executor.memory_file]))])
    _, ancillary, _, _ = left.recvmsg(1, socket.CMSG_SPACE(4))
    with mmap.mmap(struct.unpack("i", ancillary[0][2])[0], 4096) as shared:
        shared[0] = 9
        values.append(os.pread(executor.memory_file, 1, 0)[0])
    return values


# ---- limits


def test_memory_is_bounded(server: ForkServer) -> None:
    before, huge, code, after = answer(server.run_before(_take_memory))
    assert before == [1]
    assert huge == [0]
    assert code == OUT_OF_MEMORY
    assert after


def _take_memory(executor: Executor) -> tuple[list[int], list[int], int, bool]:
    executor.confine(Limits(memory=1024 * MEBIBYTE))
    executor.load()
    taken = [executor.launch("takes_memory", np.int64(mebibytes), one()).out for mebibytes in (64, 1024)]
    return (*taken, int(executor.device.hip.hipMalloc(1024 * MEBIBYTE)[0]), executor.works())


def test_what_a_kernel_prints_is_bounded(server: ForkServer) -> None:
    ended = server.run_before(_print_much)
    assert answer(ended) is True
    assert len(ended.stdout) == 100_000


def _print_much(executor: Executor) -> bool:
    executor.confine(Limits(file=100_000))
    executor.load()
    executor.launch("prints", np.int32(1000))
    return executor.works()


def test_a_limit_that_holds_already_is_not_raised(server: ForkServer) -> None:
    assert answer(server.run_before(_keep_limits)) == [(1000, 1000), (0, 0)]


def _keep_limits(executor: Executor) -> list[tuple[int, int]]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    executor.confine(Limits(file=2000))
    return [resource.getrlimit(kind) for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE)]


# ---- who guards


def test_the_text_says_what_guards(guards: str) -> None:
    assert re.fullmatch(r"seccomp(, without Landlock| and Landlock \d+)", guards)


def test_a_second_call_says_the_same(server: ForkServer, guards: str) -> None:
    assert answer(server.run(Executor.confine)) == guards


def test_every_thread_is_guarded(server: ForkServer) -> None:
    threads = answer(server.run_before(_statuses))
    assert len(threads) >= 3
    for status in threads:
        fields = dict(re.findall(r"^(\w+):\s+(\S+)", status, re.MULTILINE))
        assert fields["Seccomp"] == "2"
        assert fields["NoNewPrivs"] == "1"
        assert {fields[key] for key in ("CapPrm", "CapEff", "CapInh")} == {"0" * 16}


def _statuses(executor: Executor) -> list[str]:
    executor.load()
    assert executor.works()  # the watchdog
    end = threading.Event()
    threading.Thread(target=end.wait).start()
    executor.confine()
    texts = [Path(f"/proc/self/task/{task}/status").read_text() for task in os.listdir("/proc/self/task")]
    end.set()
    return texts


def test_a_thread_that_blocks_all_signals_is_told(server: ForkServer) -> None:
    message, works = answer(server.run_before(_confine_beside_a_thread_that_blocks, list(signal.valid_signals())))
    assert message == "no sandbox: 1 of the process's threads block signals, and cannot be confined"
    assert works


def test_a_thread_that_blocks_the_report_is_cured(server: ForkServer, guards: str) -> None:
    assert answer(server.run_before(_confine_beside_a_thread_that_blocks, [signal.SIGSYS])) == (guards, True)


def _confine_beside_a_thread_that_blocks(executor: Executor, signals: list[int]) -> tuple[str, bool]:
    """What came of it, and whether the process still works when that thread has ended."""
    blocked, end = threading.Event(), threading.Event()

    def block() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        blocked.set()
        end.wait()

    thread = threading.Thread(target=block)
    thread.start()
    blocked.wait()
    try:
        text = executor.confine()
    except NoSandbox as error:
        text = str(error)
    end.set()
    thread.join()
    executor.load()
    return text, executor.works()


def test_no_thread_reads_another_process(server: ForkServer, guards: str) -> None:
    if "without" in guards:
        pytest.skip("only Landlock guards this")
    assert answer(server.run_before(_read_parent)) == ["PermissionError"] * 2


def _read_parent(executor: Executor) -> list[str]:
    """By a thread that was there before, and the one that confined."""
    found: list[str] = []
    confined = threading.Event()

    def read() -> None:
        confined.wait()
        try:
            with open(f"/proc/{os.getppid()}/mem", "rb"):
                found.append("opened")
        except OSError as error:
            found.append(type(error).__name__)

    thread = threading.Thread(target=read)
    thread.start()
    executor.confine()
    confined.set()
    thread.join()
    read()
    return found


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_is_confined_too(server: ForkServer, guards: str) -> None:
    assert answer(server.run_before(_confine_as_nobody)) == (guards, True)


def _confine_as_nobody(executor: Executor) -> tuple[str, bool]:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: /proc/self belongs to the new user
    executor.confine()
    executor.load()
    return executor.guards, executor.works()


# ---- machines that have less


def _without(*numbers: int) -> None:
    """Have these system calls fail with ENOSYS from now on."""
    code = [(0x20, 0, 0, 0)]  # load the number
    for number in numbers:
        code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | 38)]
    code.append((0x06, 0, 0, 0x7FFF0000))
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text)))
    library = ctypes.CDLL(None, use_errno=True)
    assert library.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert library.prctl(22, 2, program, 0, 0) == 0  # PR_SET_SECCOMP


def test_a_machine_without_seccomp_has_no_sandbox(server: ForkServer) -> None:
    assert answer(server.run_before(_confine_without_seccomp)) == (
        "no sandbox: the kernel has no seccomp filters",
        True,
    )


def _confine_without_seccomp(executor: Executor) -> tuple[str, bool]:
    _without(317)
    executor.load()
    try:
        return executor.confine(), False
    except NoSandbox as error:
        return str(error), executor.works()


def test_a_machine_without_landlock_says_so(server: ForkServer) -> None:
    guards, message, works = answer(server.run_before(_confine_without_landlock))
    assert guards == "seccomp, without Landlock"
    assert message.endswith("called socket(), which is forbidden in kernels")
    assert works


def _confine_without_landlock(executor: Executor) -> tuple[str, str, bool]:
    _without(444, 445, 446)
    executor.confine()
    executor.load()
    return executor.guards, executor.bare_call(41).message, executor.works()
