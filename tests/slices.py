"""The slices in which CI runs what ``make test`` leaves out: one for each commit on main, so that all get their turn.

``python -m tests.slices`` runs the one of this commit, ``python -m tests.slices 3`` the third, ``--list`` prints them.
A slice takes about five minutes on two cores; tests/README.md has the times.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTEST = ("-m", "pytest", "-q", "-n", str((os.cpu_count() or 1) + 1), "--dist", "worksteal")
"""One worker more than cores: some tests wait for processes that hang."""
OTHER = ROOT / ".venv-7.2"
"""The environment with the second hip-python that is promised."""

THROUGH_HIP_PYTHON = [
    f"tests/{folder}"
    for folder in (
        *("bench", "cpu_hiprtc", "cpu_runtime", "cpu_sandbox", "cuda_runtime", "engine", "installation", "launchers"),
        *("processes", "replay", "rocm_runtime", "runtimes", "toolchains", "verdict"),
    )
]
"""Only conformance/runtimes/hip calls hip-python: the folders of tests that go through it."""


def run(*command: str | Path) -> None:
    """Run ``command`` at the root and end with its exit code if it fails."""
    code = subprocess.run([str(word) for word in command], cwd=ROOT, check=False).returncode
    if code:
        sys.exit(code)


def nightly(*paths: str) -> Callable[[], None]:
    return lambda: run(sys.executable, *PYTEST, "-m", "nightly", *paths)


def parity() -> None:
    """The matrix in both wave sizes, the replays, and the machine code of gfx942; no file that git knows may change."""
    before = _changed()
    run("make", "parity", f"PYTHON={sys.executable}")
    if _changed() != before:
        sys.exit(f"make parity changes files that git knows:\n{_changed()}")


def _changed() -> str:
    return subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout


def other_hip_python() -> None:
    """The second hip-python: the matrix for waves of 32, machine code, and the tests that go through it."""
    python, program = OTHER / "bin" / "python", OTHER / "bin" / "candle-parity"
    if not (OTHER / ".installed").exists():
        run(sys.executable, "-m", "venv", OTHER)
        run(
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-e",
            ".[dev]",
            "hip-python>=7.2,<7.3",
        )
        (OTHER / ".installed").touch()
    run(program, "run", "--runtime", "cpu", "--wave", "32", "--all-cases", "--fail-under", "100")
    if shutil.which("clang++-19"):
        run(
            program,
            "run",
            "--runtime",
            "isa",
            "--arch",
            "gfx942",
            "--all-cases",
            "--module",
            "cast",
            "--module",
            "sort",
        )
    run(python, *PYTEST, "-m", "not nightly", *THROUGH_HIP_PYTHON)


@dataclass(frozen=True)
class Slice:
    """``paths`` are the files and folders whose nightly tests it runs."""

    name: str
    start: Callable[[], None]
    paths: Sequence[str] = ()


def of_tests(name: str, *paths: str) -> Slice:
    return Slice(name, nightly(*paths), paths)


OWN_KERNELS_INSTALLED = ("tests/installation/test_own_page.py", "tests/installation/test_own_matrix.py")

SLICES = (
    Slice("the matrix in both wave sizes, replays, and machine code of gfx942", parity),
    Slice("the second hip-python", other_hip_python),
    of_tests("AMD targets", "tests/kernels", "tests/growing"),
    of_tests("AMD's own libraries", "tests/rocm_libraries"),
    of_tests("sums and own kernels", "tests/sums", "tests/own", *OWN_KERNELS_INSTALLED),
    of_tests("machine code", "tests/isa_runtime", "tests/rocm_runtime", "tests/selftest"),
    of_tests("programs", "tests/capture", "tests/cuda_runtime", "tests/emulate"),
    of_tests(
        "causes", "tests/causes", "tests/cases", "tests/cpu_runtime", "tests/engine", "tests/fuzz", "tests/verdict"
    ),
    of_tests("commands", "tests/ci", "tests/cli", "tests/house", "tests/report", "tests/record", "tests/bench"),
    of_tests(
        "compiling",
        "tests/port",
        "tests/launchers",
        "tests/libraries",
        "tests/cpu_hiprtc",
        "tests/dialect",
        "tests/upstream",
    ),
    of_tests("forgeries", "tests/harm/test_forgeries.py"),
    of_tests("disks", "tests/harm/test_disks.py"),
    of_tests("harm", "tests/harm/test_harmful_trees.py", "tests/harm/test_killed.py"),
)


def chosen(commits: int) -> int:
    """The number of the slice, from 1, for a main of so many commits."""
    return commits % len(SLICES) + 1


def _commits() -> int:
    counted = subprocess.run(
        ["git", "rev-list", "--count", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if counted.returncode:
        sys.exit(f"the commits cannot be counted: {counted.stderr.strip()}; name the slice: python -m tests.slices N")
    return int(counted.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.slices", description=__doc__.splitlines()[0])
    parser.add_argument("slice", type=int, nargs="?", choices=range(1, len(SLICES) + 1), help="default: by the commits")
    parser.add_argument("--list", action="store_true", help="print the slices")
    arguments = parser.parse_args()
    if arguments.list:
        print(*(f"{number}: {one.name}" for number, one in enumerate(SLICES, 1)), sep="\n")
        return
    number = arguments.slice or chosen(_commits())
    print(f"slice {number} of {len(SLICES)}: {SLICES[number - 1].name}", flush=True)
    started = time.monotonic()
    SLICES[number - 1].start()
    print(f"slice {number} of {len(SLICES)} took {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
