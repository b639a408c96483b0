"""Times the command's start, the whole matrix warm and cold, one launch, the replay of recorded traces and the
interpreter of AMD machine code, and prints what was measured next to the figures of before.json."""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
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
BEFORE = Path(__file__).with_name("before.json")


@dataclass(frozen=True)
class Timed:
    """One command: wall seconds, CPU seconds of all its processes, the largest memory of them together in MiB (shared
    pages counted once), and its record."""

    seconds: float
    cpu: float
    peak_mib: float
    record: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s, {self.cpu:.0f} s of CPU"


def timed(words: Sequence[str], environment: dict[str, str] | None = None) -> Timed:
    """Run ``candle-parity WORDS --json`` and watch it; raises ``RuntimeError`` with its words when it cannot run."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.json"
        command = [sys.executable, "-m", "conformance.cli.main", *words, "--json", str(record)]
        started, used = time.perf_counter(), _cpu()
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
        return Timed(seconds, _cpu() - used, peak[0], json.loads(record.read_text()))


def _cpu() -> float:
    """CPU seconds of the processes that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def started(words: Sequence[str]) -> str:
    """What the fastest of three runs of a command took."""
    times = []
    for _ in range(3):
        began, used = time.perf_counter(), _cpu()
        subprocess.run([sys.executable, "-m", "conformance.cli.main", *words], check=True, capture_output=True)
        times.append((time.perf_counter() - began, _cpu() - used))
    return "{:.2f} s, {:.2f} s of CPU".format(*min(times))


def _watch(process: subprocess.Popen[bytes], peak: list[float]) -> None:
    while process.poll() is None:
        peak[0] = max(peak[0], sum(_proportional(pid) for pid in _tree(process.pid)))
        time.sleep(0.2)


def _tree(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(found for child in children for found in _tree(int(child)))]


def _proportional(pid: int) -> float:
    """MiB of a process, of pages that several have its part."""
    try:
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(row.split()[1]) for row in rows if row.startswith("Pss:")) / 2**10


def machine() -> str:
    """The processor and how many cores this process may use."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{model}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/speed", description=__doc__)
    parser.add_argument("--traces", type=Path, help="recorded traces (default: reference/traces)")
    parser.add_argument("--skip-cold", action="store_true", help="leave out the run with an empty cache")
    parser.add_argument("--keep", metavar="COMMIT", help="write the figures to before.json, as those of a release")
    arguments = parser.parse_args()
    traces = arguments.traces or ROOT / "reference" / "traces"

    print(machine())
    rows: list[tuple[str, str, str]] = []
    timed(["run", "*_f32"])  # builds the runtime and every module
    for words in (["--help"], ["list"], ["run", "uexp_f32"]):
        rows.append((f"candle-parity {' '.join(words)}", started(words), ""))
    slowest: list[dict[str, Any]] = []
    for jobs in sorted({1, len(os.sched_getaffinity(0))}):
        run = timed(["run", "-j", str(jobs)])
        cases = run.record["summary"]["cases"]
        rows.append((f"whole matrix, warm, {jobs} judges", str(run), f"{cases:,} cases"))
        rows.append((f"  memory (PSS), {jobs} judges", f"{run.peak_mib:,.0f} MiB", ""))
        slowest = sorted(run.record["kernels"], key=lambda kernel: -(kernel.get("seconds") or 0))[:10]
    timed(["run", "--reuse"])
    rows.append(("whole matrix, nothing changed, --reuse", str(timed(["run", "--reuse"])), ""))
    if not arguments.skip_cold:
        with tempfile.TemporaryDirectory() as cache:
            cold = timed(["run"], {"CANDLE_PARITY_CACHE": cache})
        rows.append(("whole matrix, cold: runtime and kernels compiled", str(cold), ""))
        with tempfile.TemporaryDirectory() as cache:
            small = timed(["run", "fill_*", "copy2d_*", "const_set_*"], {"CANDLE_PARITY_CACHE": cache})
        rows.append(("fill.hip alone, cold", str(small), ""))
    if traces.is_dir():
        for subject in ("reference", "kernels"):
            replay = timed(["replay", str(traces), "--subject", subject])
            rows.append((f"replay --subject {subject}", str(replay), f"{replay.record['summary']['cases']:,} cases"))
    for name, microseconds, note in launch_microseconds():
        rows.append((name, f"{microseconds:.1f} us", note))
    for name, rate in interpreted("gfx942"):
        rows.append((f"isa runtime, {name}", f"{rate:.0f} M/s", "instructions of gfx942's waves, on one core"))
    before = json.loads(BEFORE.read_text())
    table = [(what, value, before["figures"].get(what, ""), note) for what, value, note in rows]
    print(tabulate(table, headers=("what", "measured", f"at {before['commit']}", ""), tablefmt="simple"))
    print(f"\nbefore: {before['machine']}")
    if arguments.keep:
        figures = {what: value for what, value, _ in rows}
        kept = {"commit": arguments.keep, "machine": machine(), "figures": figures}
        BEFORE.write_text(json.dumps(kept, indent=1) + "\n")
    print("\nslowest kernels (all cases, one judge's seconds)")
    print(
        tabulate(
            [(k["name"], k["cases"], f"{k['seconds']:.2f}") for k in slowest if k.get("seconds")],
            ("kernel", "cases", "s"),
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
