"""Children end with the process that started them, whatever ends it, and leave nothing."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.notices import take_warnings
from conformance.processes import Child, InfrastructureError, Supervisor, parent_word
from conformance.processes.supervisor import MARK, scratch_base

PARENT = Path(__file__).with_name("parent.py")
ROOT = PARENT.parents[2]
LIMIT = 60.0
"""Seconds until a test gives up; nothing takes that long unless it is broken."""


def becomes(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


def runs(process: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisor]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Supervisor() as made:
        yield made
    assert list(tmp_path.glob("candle-parity-*")) == []


def python(supervisor: Supervisor, program: str, **settings: int) -> Child:
    return supervisor.start([sys.executable, "-c", program], **settings)


@pytest.mark.slow("starts and kills processes")
@pytest.mark.parametrize("kind", ["stays", "leaves", "forked", "nothing"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSEGV])
def test_children_grandchildren_and_scratch_end_with_the_parent(kind: str, number: int, tmp_path: Path) -> None:
    """The child ignores SIGTERM; with ``leaves`` the grandchild has left the child's group and session, with
    ``forked`` the child is a copy of the parent."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    words = [sys.executable, str(PARENT), kind]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as parent:
        assert parent.stdout is not None
        lines = [parent.stdout.readline() for _ in range(1 if kind == "nothing" else 2)]
        said = " ".join(lines).split()
        processes = [int(word) for word in said if word.isdigit() and word != "0"]
        (scratch,) = [Path(word) for word in said if word.startswith("/")]
        assert scratch.is_dir()
        assert len(processes) == (0 if kind == "nothing" else 2)
        assert all(runs(process) for process in processes)
        parent.send_signal(number)
        parent.wait(LIMIT)
    assert becomes(lambda: not any(runs(process) for process in processes))
    assert becomes(lambda: not scratch.exists())


def test_the_rest_of_a_group_ends_with_its_leader(supervisor: Supervisor) -> None:
    read, write = os.pipe()
    program = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"
    child = python(supervisor, program, stdout=write)
    os.close(write)
    with open(read) as pipe:
        grandchild = int(pipe.readline())
    assert child.wait(LIMIT) == 0
    assert becomes(lambda: not runs(grandchild))


def test_a_child_that_ignores_signals_is_killed_with_its_group(supervisor: Supervisor) -> None:
    read, write = os.pipe()
    program = (
        "import signal, subprocess, time\n"
        "for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)\n"
        "print(subprocess.Popen(['sleep', '600']).pid, flush=True)\n"
        "time.sleep(600)"
    )
    child = python(supervisor, program, stdout=write)
    os.close(write)
    with open(read) as pipe:
        grandchild = int(pipe.readline())
    assert child.poll() is None
    assert child.ended_how() == "still running"
    assert child.wait(0.01) is None
    child.kill()
    assert child.poll() == -signal.SIGKILL
    assert child.ended_how() == "signal SIGKILL"
    assert becomes(lambda: not runs(grandchild))


@pytest.mark.parametrize(
    ("program", "how"),
    [
        ("", "exit code 0"),
        ("raise SystemExit(3)", "exit code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal SIGSEGV"),
    ],
)
def test_how_a_child_ended_is_told_in_words(supervisor: Supervisor, program: str, how: str) -> None:
    child = python(supervisor, program)
    assert child.wait(LIMIT) is not None
    assert child.ended_how() == how
    child.kill()
    assert child.ended_how() == how
    with pytest.raises(ValueError, match="has ended"):
        child.fileno()


def test_a_selector_sees_the_end(supervisor: Supervisor) -> None:
    child = python(supervisor, "")
    with selectors.DefaultSelector() as selector:
        selector.register(child, selectors.EVENT_READ)
        assert selector.select(LIMIT)
        selector.unregister(child)
    assert child.poll() == 0


def test_children_get_scratch_descriptors_and_environment(supervisor: Supervisor) -> None:
    read, write = os.pipe()
    program = f"import os; os.write({write}, repr([os.environ['TMPDIR'], os.environ.get('A'), os.getpgid(0)]).encode())"
    words = [sys.executable, "-c", program]
    child = supervisor.start(words, pass_fds=[write], environment={**os.environ, "A": "given"})
    os.close(write)
    with open(read) as pipe:
        assert pipe.read() == repr([str(supervisor.scratch), "given", child.pid])
    assert child.wait(LIMIT) == 0


def test_close_ends_all_and_nothing_starts_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    supervisor = Supervisor()
    assert list(tmp_path.iterdir()) == []
    children = [python(supervisor, "import time; time.sleep(600)") for _ in range(3)]
    supervisor.close()
    assert [child.ended_how() for child in children] == ["signal SIGKILL"] * 3
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InfrastructureError, match="the run is ending"):
        python(supervisor, "")
    supervisor.close()


def test_threads_may_start_children(supervisor: Supervisor) -> None:
    codes: list[int | None] = []

    def run() -> None:
        for _ in range(3):
            codes.append(python(supervisor, "raise SystemExit(7)").wait(LIMIT))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert codes == [7] * 12


def test_a_guard_that_was_killed_is_replaced(supervisor: Supervisor) -> None:
    first = python(supervisor, "import time; time.sleep(600)")
    guard = supervisor._guard
    assert guard is not None
    guard.kill()
    guard.wait()
    second = python(supervisor, "import time; time.sleep(600)")
    assert supervisor._guard is not guard
    assert (first.poll(), second.poll()) == (None, None)
    # What the parent's death would do, without the parent's own hand in it.
    os.close(supervisor._guard_pipe)
    supervisor._guard_pipe = -1
    assert first.wait(LIMIT) == -signal.SIGKILL
    assert second.wait(LIMIT) == -signal.SIGKILL


def test_a_forked_copy_neither_ends_children_nor_keeps_them_alive(supervisor: Supervisor) -> None:
    child = python(supervisor, "import time; time.sleep(600)")
    pipe = supervisor._guard_pipe
    copy = os.fork()
    if copy == 0:
        supervisor.close()
        try:
            os.fstat(pipe)
        except OSError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 0
    assert child.poll() is None
    assert supervisor.scratch.is_dir()


def test_a_program_that_is_not_there_is_named(supervisor: Supervisor) -> None:
    with pytest.raises(InfrastructureError, match="/nowhere/cc cannot be started: No such file or directory"):
        supervisor.start(["/nowhere/cc"])


def test_a_tmpdir_that_is_not_there_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "absent"))
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path))
    take_warnings()
    with Supervisor() as supervisor:
        assert supervisor.scratch.parent == tmp_path
    (said,) = take_warnings()
    assert said == f"temporary files go to {tmp_path} (TMPDIR={tmp_path / 'absent'}: No such file or directory)"


def test_a_tmpdir_with_little_room_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "narrow").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "narrow"))
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path))
    monkeypatch.setattr("conformance.processes.supervisor.has_room", lambda folder: folder == tmp_path)
    assert scratch_base() == tmp_path
    monkeypatch.setattr("conformance.processes.supervisor.has_room", lambda folder: False)
    assert scratch_base() == tmp_path / "narrow"
    assert list(tmp_path.iterdir()) == [tmp_path / "narrow"]
    take_warnings()


def test_without_any_folder_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "absent"))
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "absent"))
    monkeypatch.setattr("conformance.processes.supervisor.COMMON", tmp_path / "absent")
    with Supervisor() as supervisor, pytest.raises(InfrastructureError) as caught:
        _ = supervisor.scratch
    assert "TMPDIR=" in str(caught.value)
    assert "No such file or directory" in str(caught.value)
    assert "make room in one, or set TMPDIR" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_child_of_ours_asks_the_kernel_to_end_with_its_parent(supervisor: Supervisor) -> None:
    """PR_GET_PDEATHSIG says which signal comes; a parent that has ended already is noticed."""
    program = """
import ctypes, sys
from conformance.processes import die_with_parent
die_with_parent(int(sys.argv[1]))
number = ctypes.c_int()
ctypes.CDLL(None).prctl(2, ctypes.byref(number), 0, 0, 0)
sys.exit(number.value)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def ended(parent: int) -> int | None:
        words = [sys.executable, "-c", program, str(parent)]
        return supervisor.start(words, environment=environment, stderr=subprocess.DEVNULL).wait(LIMIT)

    assert ended(parent_word()) == signal.SIGKILL
    assert ended(0) == 0
    assert ended(1 << 22) == 1


def test_only_the_main_thread_asks_for_the_parent_death_signal() -> None:
    said: list[int] = []
    thread = threading.Thread(target=lambda: said.append(parent_word()))
    thread.start()
    thread.join()
    assert (said, parent_word()) == ([0], os.getpid())


def test_the_mark_is_in_the_environment_of_children_only(supervisor: Supervisor) -> None:
    python(supervisor, "").wait(LIMIT)
    assert MARK not in os.environ
