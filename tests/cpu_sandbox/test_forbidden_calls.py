"""What a kernel must not call is refused and named, wherever the call stands; the next kernel runs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.runtimes.cpu.control import FORBIDDEN_EXIT
from tests.cpu_sandbox.confined import SOURCE, Ended, Executor, ForkServer, Launched

LAUNCH_FAILURE = 719
CALLS = Path(__file__).parents[2] / "conformance/runtimes/cpu/runtime/sandbox_calls.inc"
HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")

ATTEMPTS = re.findall(r'^    \{"([^"]+)", ', SOURCE.read_text(), re.MULTILINE)

# What the report calls an attempt, where its name is not the call's own.
NAMED = {
    "fork": "clone() of a new process",
    "fork with signals blocked": "clone() of a new process",
    "system": "clone() of a new process",
    "popen": "clone() of a new process",
    "posix_spawn": "clone() of a new process",
    "execv": "execve()",
    "open": "openat() for writing",
    "create": "openat() for writing",
    "open, truncating": "openat() for writing",
    "unnamed file": "openat() for writing",
    "fopen": "openat() for writing",
    "remove": "unlink()",
    "kill": "kill() of another process",
    "kill the group": "kill() of another process",
    "signal by fcntl": "fcntl() for signals",
    "setrlimit": "prlimit()",
    "leave the group": "setsid()",
    "nice": "setpriority()",
    "ignore the reports": "sigaction() of SIGSYS",
}

ROWS = re.findall(r'\{(\d+), (\w+), "([^"]+)"\}', CALLS.read_text())
REFUSED = {name: (int(number), rule == "by_argument") for number, rule, name in ROWS if rule != "allowed"}
ALLOWED = {name: int(number) for number, rule, name in ROWS if rule == "allowed"}

# Arguments with which a call is refused that may be made with others: a file, a process that is not the caller's.
ARGUMENTS = {
    "clone() of a new process": (0x11,),
    "open() for writing": (0, os.O_RDWR),
    "openat() for writing": (0, 0, os.O_WRONLY | os.O_CREAT),
    "kill() of another process": (-1, 0),
    "tgkill() of another process": (1, 1, 0),
    "fcntl() for signals": (0, 15, 1),
    "ioctl() for signals or terminal input": (0, 0x5412, 0),
    "sigaction() of SIGSYS": (31, 8, 0, 8),
    "prlimit()": (1, 0, 0, 0),
    "sched_setaffinity() of another thread": (1, 0, 0),
}


def report(call: str, kernel: str = "bare_call", block: int = 0, thread: int = 0) -> str:
    return f"kernel {kernel}, block ({block},0,0), thread ({thread},0,0): called {call}, which is forbidden in kernels"


# ---- in kernels, by the C library


@pytest.fixture(scope="module")
def in_kernels(server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every attempt, one after the other in one process: the launch, and whether a healthy kernel ran right after."""
    file = tmp_path_factory.mktemp("attempts") / "file"
    file.write_text("kept")
    ended = server.run(_attempt_all, ATTEMPT_FILE=str(file), ATTEMPT_VICTIM=str(os.getpid()))
    assert ended.code == 0, ended.stderr
    assert ended.stderr == ""
    assert file.read_text() == "kept"
    assert os.listdir(file.parent) == ["file"]
    assert not Path("/tmp/attempted").exists()
    assert isinstance(ended.answer, dict)
    return ended.answer


def _attempt_all(executor: Executor) -> dict[str, tuple[Launched, bool]]:
    assert executor.works()
    return {
        name: (executor.launch("attempts_in_kernel", np.int32(which), _word(), blocks=2, threads=8), executor.works())
        for which, name in enumerate(ATTEMPTS)
    }


def _word() -> np.ndarray[Any, Any]:
    return np.zeros(1, np.int64)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_in_a_kernel_is_named_and_survived(in_kernels: dict[str, Any], name: str) -> None:
    launched, works_after = in_kernels[name]
    assert launched.message == report(NAMED.get(name, f"{name}()"), "attempts_in_kernel", 1, 3)
    assert launched.code == LAUNCH_FAILURE
    assert launched.is_fault
    assert works_after


def test_every_kind_of_attempt_is_tried() -> None:
    assert len(ATTEMPTS) == 30
    assert set(NAMED) <= set(ATTEMPTS)


def test_a_loop_or_fault_behind_an_attempt_does_not_hide_it(server: ForkServer) -> None:
    ended = server.run(_attempt_and_go_wrong)
    assert ended.code == 0, ended.stderr
    for kernel, launched in ended.answer.items():
        assert launched.message == report("socket()", kernel)
        assert launched.is_fault


def _attempt_and_go_wrong(executor: Executor) -> dict[str, Launched]:
    executor.runtime.set_option("timeout_ms", 100)
    which = np.int32(ATTEMPTS.index("socket"))
    return {name: executor.launch(name, which) for name in ("loops_after_attempt", "faults_after_attempt")}


# ---- in kernels, by the instruction itself


@pytest.fixture(scope="module")
def bare_calls(server: ForkServer) -> dict[str, Any]:
    """Every call that is refused, one after the other in one process."""
    ended = server.run(_call_all)
    assert ended.code == 0, ended.stderr
    assert ended.stderr == ""
    assert isinstance(ended.answer, dict)
    return ended.answer


def _call_all(executor: Executor) -> dict[str, tuple[Launched, bool]]:
    return {
        name: (executor.bare_call(number, *ARGUMENTS.get(name, ())), executor.works())
        for name, (number, _) in REFUSED.items()
    }


@pytest.mark.parametrize("name", REFUSED)
def test_a_bare_system_call_is_named_and_survived(bare_calls: dict[str, Any], name: str) -> None:
    launched, works_after = bare_calls[name]
    assert (launched.code, launched.message) == (LAUNCH_FAILURE, report(name))
    assert works_after


def test_arguments_are_given_for_the_calls_that_may_have_others() -> None:
    assert {name for name, (_, by_argument) in REFUSED.items() if by_argument} == set(ARGUMENTS)


OTHERS = {
    "clone3": (435, (), -38),
    "openat2": (437, (), -38),
    "a number that Linux does not have": (5000, (), -38),
    "umask": (95, (0o22,), -38),
    "prctl(PR_SET_PDEATHSIG)": (157, (1, 0), -1),
    "fcntl(F_SETLK)": (72, (0, 6, 0), -1),
    "ioctl(FIGETBSZ)": (16, (0, 2, 0), -1),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_on_no_list_fails_and_is_no_fault(server: ForkServer, name: str) -> None:
    number, arguments, result = OTHERS[name]
    ended = server.run(Executor.bare_call, number, *arguments)
    assert ended.answer == Launched(0, "", False, [result])


NAMESPACES = {"ptrace": 0x2000, "mounts": 0x20000, "users": 0x10000000, "processes": 0x20000000, "network": 0x40000000}


@pytest.mark.parametrize("flag", NAMESPACES.values(), ids=NAMESPACES)
def test_a_thread_takes_nothing_new_with_it(server: ForkServer, flag: int) -> None:
    ended = server.run(Executor.bare_call, 56, 0x10F00 | flag)
    assert ended.answer.message == report("clone() of a new process")


@pytest.mark.parametrize("number", [1, 11, 359])
def test_32_bit_system_calls_are_refused(server: ForkServer, number: int) -> None:
    ended = server.run(_call_of_32_bits, number)
    launched, works_after = ended.answer
    assert launched.message == report("a 32-bit system call (int 0x80)", "call_of_32_bits")
    assert works_after


def _call_of_32_bits(executor: Executor, number: int) -> tuple[Launched, bool]:
    return executor.launch("call_of_32_bits", np.int32(number), _word()), executor.works()


def test_calls_of_the_x32_abi_are_refused(server: ForkServer) -> None:
    ended = server.run(Executor.bare_call, 0x40000000 | 39)
    assert ended.answer.message == report("a system call of the x32 ABI")


# ---- outside kernels


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_while_a_module_is_loaded_ends_the_process(server: ForkServer, tmp_path: Path, name: str) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    ended = server.run(Executor.load, "at load", ATTEMPT=name, ATTEMPT_FILE=str(file), ATTEMPT_VICTIM=str(os.getpid()))
    assert ended == Ended(
        None, FORBIDDEN_EXIT, "", f"called {NAMED.get(name, f'{name}()')}, which is forbidden in kernels\n"
    )
    assert file.read_text() == "kept"


def test_a_module_that_attempts_nothing_is_loaded(server: ForkServer) -> None:
    ended = server.run(_load_second)
    assert ended.answer == [True, True], ended.stderr


def _load_second(executor: Executor) -> list[bool]:
    before = executor.works()
    executor.load("at load")
    return [before, executor.works()]


def test_a_thread_that_a_kernel_left_behind_ends_the_process(server: ForkServer) -> None:
    ended = server.run(_leave_a_thread)
    assert ended == Ended(None, FORBIDDEN_EXIT, "", "called socket(), which is forbidden in kernels\n")


def test_setuid_is_called_in_all_threads_and_ends_the_process(server: ForkServer) -> None:
    ended = server.run(_change_user)
    assert ended == Ended(None, FORBIDDEN_EXIT, "", "called setuid(), which is forbidden in kernels\n")


def _change_user(executor: Executor) -> None:
    assert executor.works()
    executor.launch("changes_user")


def _leave_a_thread(executor: Executor) -> None:
    import time

    assert executor.launch("starts_thread", np.zeros(1, np.int32)).out == [0]
    time.sleep(10)


# ---- the table


def test_no_call_is_on_both_lists() -> None:
    numbers = [*ALLOWED.values(), *(number for number, _ in REFUSED.values())]
    assert len(numbers) == len(set(numbers))
    assert len(ALLOWED) > 100
    assert len(REFUSED) > 130


@pytest.mark.skipif(not HEADER.is_file(), reason="no Linux headers")
def test_the_numbers_are_those_of_the_system() -> None:
    known = dict(re.findall(r"#define __NR_(\w+) (\d+)", HEADER.read_text()))
    aliases = {"prlimit": "prlimit64", "sigaction": "rt_sigaction"}
    listed = {name.split("(")[0]: number for name, (number, _) in REFUSED.items()} | ALLOWED
    listed = {aliases.get(name, name): number for name, number in listed.items()}
    differing = {name: number for name, number in listed.items() if int(known.get(name, number)) != number}
    assert differing == {}
    assert len(listed.keys() & known.keys()) > 230
