"""Times the whole matrix warm and cold, one launch, the replay of recorded traces and the interpreter of AMD machine
code, and prints what was measured."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interpreting import interpreted
from launching import launch_microseconds
from tabulate import tabulate

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Timed:
    """One command: wall seconds, the largest resident memory of its processes together in MiB, and its record."""

    seconds: float
    peak_mib: float
    record: dict[str, Any]


def timed(words: Sequence[str], environment: dict[str, str] | None = None) -> Timed:
    """Run ``candle-parity WORDS --json`` and watch it; raises ``RuntimeError`` with its words when it cannot run."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.json"
        command = [sys.executable, "-m", "conformance.cli.main", *words, "--json", str(record)]
        started = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, **(environment or {})}
        )
        peak = [0.0]
        watch = threading.Thread(target=_watch, args=(process, peak))
        watch.start()
        _, errors = process.communicate()
        seconds = time.perf_counter() - started
        watch.join()
        if not record.exists():
            raise RuntimeError(f"{' '.join(words)}: {errors.decode(errors='replace').strip()}")
        return Timed(seconds, peak[0], json.loads(record.read_text()))


def _watch(process: subprocess.Popen[bytes], peak: list[float]) -> None:
    while process.poll() is None:
        peak[0] = max(peak[0], sum(_resident(pid) for pid in _tree(process.pid)))
        time.sleep(0.05)


def _tree(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(found for child in children for found in _tree(int(child)))]


def _resident(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0.0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if len(fields) > 1 else 0.0


def machine() -> str:
    """The processor and how many cores this process may use."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{model}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/speed", description=__doc__)
    parser.add_argument("--traces", type=Path, help="recorded traces (default: reference/traces)")
    parser.add_argument("--skip-cold", action="store_true", help="leave out the run with an empty cache")
    arguments = parser.parse_args()
    traces = arguments.traces or ROOT / "reference" / "traces"

    print(machine())
    rows: list[tuple[str, str, str]] = []
    timed(["run", "*_f32"])  # builds the runtime and every module
    slowest: list[dict[str, Any]] = []
    for jobs in (1, len(os.sched_getaffinity(0))):
        run = timed(["run", "-j", str(jobs)])
        cases = run.record["summary"]["cases"]
        rate = f"{cases / run.seconds / jobs:,.0f} cases/s and core"
        rows.append(
            (f"whole matrix, compiled cache warm, {jobs} workers", f"{run.seconds:.1f} s", f"{cases:,} cases, {rate}")
        )
        rows.append(("  peak resident memory of all its processes", f"{run.peak_mib:,.0f} MiB", ""))
        slowest = sorted(run.record["kernels"], key=lambda kernel: -(kernel.get("seconds") or 0))[:10]
    if not arguments.skip_cold:
        with tempfile.TemporaryDirectory() as cache:
            cold = timed(["run"], {"CANDLE_PARITY_CACHE": cache})
        rows.append(("whole matrix, cold: runtime and kernels compiled", f"{cold.seconds:.1f} s", ""))
    if traces.is_dir():
        for subject in ("reference", "kernels"):
            replay = timed(["replay", str(traces), "--subject", subject])
            summary = replay.record["summary"]
            rows.append((f"replay --subject {subject}", f"{replay.seconds:.1f} s", f"{summary['cases']:,} trace cases"))
    for name, microseconds, note in launch_microseconds():
        rows.append((name, f"{microseconds:.1f} us", note))
    for name, rate in interpreted("gfx942"):
        rows.append((f"isa runtime, {name}", f"{rate:.0f} M/s", "instructions of gfx942's waves, on one core"))
    print(tabulate(rows, headers=("what", "measured", ""), tablefmt="simple"))
    print("\nslowest kernels (all cases, one worker's seconds)")
    print(
        tabulate(
            [(k["name"], k["cases"], f"{k['seconds']:.2f}") for k in slowest if k.get("seconds")],
            ("kernel", "cases", "s"),
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
