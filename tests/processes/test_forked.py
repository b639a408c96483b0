"""A child that is a copy of its parent is what a program that was started anew would be, and ends with its parent.

Each test is a program of its own: pytest's process may have threads.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from conformance.processes import forked

ROOT = Path(__file__).resolve().parents[2]
BEGIN = """
import os, signal, socket, sys, tempfile, threading, time
from conformance.notices import warn
from conformance.processes import Supervisor
from conformance.processes.forked import allow_forks, may_fork

def ended(run, keep=(), environment=os.environ):
    with Supervisor() as supervisor, tempfile.TemporaryFile() as output:
        child = supervisor.fork("a copy", run, keep, output.fileno(), environment)
        code = child.wait(60)
        output.seek(0)
        print(f"{child.ended_how()} | {output.read().decode().strip()}".strip())
        return child
"""


def said(program: str) -> str:
    """What a program prints that begins with ``BEGIN``."""
    words = [sys.executable, "-c", BEGIN + program]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout.strip()


@pytest.mark.slow("starts and ends processes")
@pytest.mark.parametrize(
    ("run", "how"),
    [
        ("print('words')", "exit code 0 | words"),
        ("raise SystemExit(3)", "exit code 3 |"),
        ("raise SystemExit('why')", "exit code 1 | why"),
        ("raise SystemExit", "exit code 0 |"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "signal SIGSEGV |"),
        ("print(os.getpgid(0) == os.getsid(0) == os.getpid() != os.getppid())", "exit code 0 | True"),
        ("print(open('/proc/self/comm').read())", "exit code 0 | a copy"),
        ("print(repr(sys.stdin.read()))", "exit code 0 | ''"),
        ("print(tempfile.gettempdir() == os.environ['TMPDIR'] != '/tmp')", "exit code 0 | True"),
        ("from conformance.notices import take_warnings; print(take_warnings())", "exit code 0 | []"),
        ("print(may_fork())", "exit code 0 | True"),
        ("from conformance.processes.supervisor import run_bounded; print(run_bounded(['true'], 9).code)",
         "exit code 0 | 0"),
    ],
)  # fmt: skip
def test_a_copy_is_as_a_program_that_was_started(run: str, how: str) -> None:
    program = f"allow_forks(); warn('of the parent'); tempfile.gettempdir()\ndef run():\n    {run}\nended(run)"
    assert said(program) == how


def test_an_error_is_told_where_the_copy_prints_and_goes_no_further() -> None:
    """Nothing that the parent does once a block is left happens twice."""
    program = """
def run():
    raise ValueError("bad")
try:
    ended(run)
finally:
    print("left", flush=True)
"""
    told = said(program)
    assert told.startswith("exit code 1 | Traceback")
    assert "ValueError: bad" in told
    assert told.count("left") == 1


def test_what_the_parent_has_not_written_yet_is_written_once() -> None:
    assert said("sys.stdout.write('half a line, ')\nended(lambda: None)") == "half a line, exit code 0 |"


def test_a_copy_has_no_file_but_those_that_it_is_given() -> None:
    program = """
ours, theirs = socket.socketpair()
read, write = os.pipe()
def run():
    names = [f"/proc/self/fd/{number}" for number in range(3, 64)]
    held = [os.readlink(name) for name in names if os.path.lexists(name)]
    os.write(theirs.fileno(), b"given")
    print(sum(name.startswith(("socket", "pipe")) for name in held), os.get_inheritable(ours.fileno()))
ended(run, [theirs.fileno()])
theirs.close()
print(ours.recv(9), ours.recv(9))
os.close(write)
print(os.read(read, 9))
"""
    assert said(program).splitlines() == ["exit code 0 | 1 False", "b'given' b''", "b''"]


def test_files_that_an_object_of_the_parents_closes_late_are_not_the_copys() -> None:
    program = """
import gc
class Late:
    def __init__(self): self.file, self.cycle = os.open("/dev/zero", os.O_RDONLY), self
    def __del__(self): os.close(self.file)
gc.disable()
kept = [Late()]
def run():
    read, write = os.pipe()
    kept.clear()
    gc.collect()
    os.write(write, b"through")
    print(os.read(read, 9))
ended(run)
"""
    assert said(program) == "exit code 0 | b'through'"


def test_signals_do_what_they_do_in_a_new_program() -> None:
    program = """
signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"the parent's"))
signal.signal(signal.SIGHUP, signal.SIG_IGN)
def run():
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
ended(run)
print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
"""
    assert said(program).splitlines() == ["signal SIGTERM |", "[]"]


def test_a_copy_can_be_killed_with_its_group_at_once() -> None:
    program = """
with Supervisor() as supervisor, tempfile.TemporaryFile() as output:
    for _ in range(50):
        child = supervisor.fork("copy", lambda: time.sleep(60), (), output.fileno(), os.environ)
        child.kill()
        assert child.ended_how() == "signal SIGKILL"
"""
    assert said(program) == ""


def test_only_a_command_of_ours_with_one_thread_is_copied() -> None:
    program = """
print(may_fork())
allow_forks()
print(may_fork())
stop = threading.Event()
thread = threading.Thread(target=stop.wait)
thread.start()
print(may_fork())
stop.set(); thread.join()
for _ in range(500):  # the system ends a thread a little after Python has joined it
    if may_fork(): break
    time.sleep(0.01)
print(may_fork())
"""
    assert said(program).split() == ["False", "True", "False", "True"]
    assert not forked.may_fork()  # this is pytest's process
    assert threading.current_thread() is threading.main_thread()


def test_the_memory_of_a_copy_is_managed_as_the_variables_say() -> None:
    """With no mapped blocks a large array that was freed is still the process's own."""
    program = """
from conformance.processes.forked import set_malloc
def resident():
    return int(open("/proc/self/statm").read().split()[1]) >> 8
def run():
    set_malloc({"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 30)})
    block = bytearray(64 << 20)
    del block
    print(resident() > 60)
ended(run)
block = bytearray(64 << 20)
del block
print(resident() > 60)
"""
    assert said(program).splitlines() == ["exit code 0 | True", "False"]
