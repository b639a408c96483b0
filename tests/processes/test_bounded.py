"""A program run to its end, within a limit, and not beyond the process that runs it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from conformance.processes.supervisor import run_bounded, stop_all

ROOT = Path(__file__).resolve().parents[2]


def test_exit_code_output_and_errors_are_told():
    script = "import sys; print('out é'); print('err', file=sys.stderr); sys.exit(3)"
    done = run_bounded([sys.executable, "-X", "utf8", "-c", script], 60)
    assert (done.code, done.out, done.err) == (3, "out é\n", "err\n")


def test_what_does_not_end_is_stopped():
    assert run_bounded([sys.executable, "-c", "import time; time.sleep(600)"], 0.2).code is None


def test_what_runs_in_another_thread_can_be_stopped():
    ended = threading.Event()

    def run() -> None:
        run_bounded([sys.executable, "-c", "import time; time.sleep(600)"], 600)
        ended.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while not ended.wait(0.05):
        stop_all()
    thread.join(60)
    assert not thread.is_alive()


def test_it_ends_with_the_process_that_runs_it(tmp_path):
    mark = tmp_path / "mark"
    child = f"import time; open({str(mark)!r}, 'w').write('x'); time.sleep(600)"
    call = f"run_bounded([{sys.executable!r}, '-c', {child!r}], 600)"
    program = f"from conformance.processes.supervisor import run_bounded; {call}"
    end = time.monotonic() + 60
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT) as parent:
        while not mark.exists():
            assert time.monotonic() < end
            time.sleep(0.02)
        parent.kill()
    while any(str(mark).encode() in words for words in _command_lines()):
        assert time.monotonic() < end
        time.sleep(0.02)


def _command_lines() -> list[bytes]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            found.append(path.read_bytes())
    return found
