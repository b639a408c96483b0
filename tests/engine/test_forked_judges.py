"""Judges are copies of the command where that is safe, else programs of their own: the same record, and the same when
one is killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.files import ROOT

PROGRAM = """
import os, signal, sys
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as the command sets it before it imports numpy
from conformance.cli.main import main
from conformance.engine import ipc, pool
from conformance.processes import Supervisor
COPIES = []
fork, ask = Supervisor.fork, pool._Member.ask
def noted(self, name, *rest):
    COPIES.append(name)
    return fork(self, name, *rest)
def killing(self, asked):
    ask(self, asked)
    if KILL and len(KILLED) < 1 and type(asked.request).__name__ == "RunCases":
        KILLED.append(self)
        os.kill(self._process.child.pid, signal.SIGKILL)
Supervisor.fork, pool._Member.ask = noted, killing
KILL, KILLED = sys.argv.pop(1) == "kill", []
if sys.argv.pop(1) == "started":
    ipc.may_fork = lambda: False
code = main()
print(len(COPIES), set(COPIES), file=sys.stderr)
sys.exit(code)
"""


def ran(folder: Path, kill: str, how: str) -> tuple[str, dict[str, Any]]:
    """What is said of the copies, and the record without times."""
    record = folder / f"{kill}-{how}.json"
    words = ["run", "fill_u8", "fill_u32", "--runtime", "cpu", "-j", "2", "-q", "--json", str(record)]
    command = [sys.executable, "-c", PROGRAM, kill, how, *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(record.read_text())
    for row in (found["run"], *found["kernels"]):
        row.pop("seconds")
    found["run"].pop("started")
    return done.stderr.strip(), found


@pytest.mark.nightly("four runs of the command, each with processes of its own")
def test_a_run_of_copies_is_as_one_of_programs(tmp_path: Path) -> None:
    said, record = ran(tmp_path, "no", "started")
    assert (said, record["summary"]["pass"]) == ("0 set()", 2)
    assert ran(tmp_path, "no", "copied") == ("2 {'judge_process'}", record)
    assert ran(tmp_path, "kill", "started") == ("0 set()", record)
    assert ran(tmp_path, "kill", "copied") == ("3 {'judge_process'}", record)
