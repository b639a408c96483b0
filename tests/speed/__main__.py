"""Times the command's start, a verdict after an edit, the whole matrix warm and cold, the replay of recorded traces,
one launch, and the interpreter of AMD machine code. With --against what another commit takes is measured in turn with
it, on the same machine with the same interpreter and packages: figures of another hour say little."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from edits import CannotEdit
from interpreting import interpreted
from launching import launch_microseconds
from tabulate import tabulate
from trees import ROOT, Timed, Tree, commit_of, fastest, worktree

from conformance.cli.ending import signals_raised
from conformance.toolchains.amd import lacking
from conformance.toolchains.host import NoCompiler, find_toolchain

TARGET = "gfx942"
CORES = len(os.sched_getaffinity(0))
START = (["--help"], ["list"])
ONE = ["run", "uexp_f32"]

Row = tuple[str, list[str]]
"""What was measured, and how much by each tree."""


def machine() -> str:
    """The processor, how many cores this process may use, the interpreter and the compiler of the host."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    try:
        compiler = find_toolchain(links_standard_library=False).identity
    except NoCompiler as error:
        compiler = str(error)
    return f"{model}, {CORES} cores, Python {platform.python_version()}, {compiler.splitlines()[0]}"


def of_start(trees: Sequence[Tree], rounds: int) -> Iterator[Row]:
    """Commands that judge nothing, and one kernel without an edit and after one."""
    for words in START:
        yield f"candle-parity {' '.join(words)}", _shown(fastest(trees, rounds, words))
    isa = [*ONE, "--runtime", "isa", "--arch", TARGET]
    for what, words in (("", ONE), *(() if lacking() else ((f" as code of {TARGET}", isa),))):
        for tree in trees:
            tree.timed(*words)  # compiles
        yield f"run uexp_f32{what}, without an edit", _shown(fastest(trees, rounds, words))
        yield f"run uexp_f32{what}, unary.hip edited", _shown(fastest(trees, rounds, words, edit=True))


def of_matrix(trees: Sequence[Tree], rounds: int, cold: bool) -> Iterator[Row]:
    """Every kernel, by as many judges as there are cores and by one."""
    for tree in trees:
        tree.timed("run", "-q")  # compiles, and keeps the answers of the reference
    for jobs in sorted({1, CORES}):
        runs = fastest(trees, rounds if jobs == CORES else 1, ["run", "-j", jobs])
        yield f"whole matrix, warm, -j {jobs}", _shown(runs)
    peaks = [tree.timed("run", watched=True) for tree in trees]
    yield "  memory (PSS)", [f"{one.peak_mib:,.0f} MiB" for one in peaks]
    yield "  kernels, cases in the verdict", [_size(one) for one in peaks]
    for tree in trees:
        tree.timed("run", "--reuse")
    yield "whole matrix, nothing changed, --reuse", _shown(fastest(trees, 1, ["run", "--reuse"]))
    if cold:
        for words in (["run"], ["run", "fill_*", "copy2d_*", "const_set_*"]):
            what = "whole matrix" if words == ["run"] else "fill.hip alone"
            yield f"{what}, cold: runtime and kernels compiled", [str(_cold(tree, words)) for tree in trees]


def _cold(tree: Tree, words: Sequence[str]) -> Timed:
    with TemporaryDirectory() as cache:
        return tree.timed(*words, cache=Path(cache))


def _shown(times: Sequence[Timed]) -> list[str]:
    return [str(one) for one in times]


def _size(run: Timed) -> str:
    assert run.record is not None
    return f"{run.record['run']['selected']:,}, {run.record['summary']['cases']:,}"


def of_traces(trees: Sequence[Tree], traces: Path) -> Iterator[Row]:
    """What was recorded on a GPU, judged again."""
    for subject in ("reference", "kernels"):
        yield f"replay --subject {subject}", _shown(fastest(trees, 1, ["replay", traces, "--subject", subject]))


def of_this_tree() -> Iterator[Row]:
    """What is measured inside a process, of this tree alone."""
    for name, microseconds, note in launch_microseconds():
        yield f"{name}{f' ({note})' if note else ''}", [f"{microseconds:.1f} us"]
    for name, rate in interpreted(TARGET):
        yield f"isa runtime, {name}: instructions of waves, one core", [f"{rate:.0f} M/s"]


def slowest(tree: Tree) -> str:
    """The kernels that take longest."""
    run = tree.timed("run", "-j", 1)
    assert run.record is not None
    rows: list[dict[str, Any]] = sorted(run.record["kernels"], key=lambda kernel: -(kernel.get("seconds") or 0))[:10]
    return tabulate([(row["name"], row["cases"], f"{row['seconds']:.2f}") for row in rows], ("kernel", "cases", "s"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/speed", description=__doc__)
    parser.add_argument("--against", metavar="REV", help="a commit or tag: measure it too, in turn with this tree")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="of N runs the fastest counts (default: 3)")
    parser.add_argument("--only", choices=("start", "matrix", "traces", "inside"), help="measure this part alone")
    parser.add_argument("--traces", type=Path, default=ROOT / "reference" / "traces", help="recorded traces")
    parser.add_argument("--skip-cold", action="store_true", help="leave out the runs with an empty cache")
    arguments = parser.parse_args()

    with ExitStack() as stack:
        stack.enter_context(signals_raised())  # SIGTERM removes what was made too
        trees = [stack.enter_context(Tree.at(f"this tree ({commit_of(ROOT)})", ROOT))]
        if arguments.against:
            other = stack.enter_context(worktree(arguments.against))
            name = f"{arguments.against} ({commit_of(other)})"
            trees.append(stack.enter_context(Tree.at(name, other)))
        parts: dict[str, Callable[[], Iterator[Row]]] = {
            "start": lambda: of_start(trees, arguments.rounds),
            "matrix": lambda: of_matrix(trees, arguments.rounds, not arguments.skip_cold),
            "traces": lambda: of_traces(trees, arguments.traces) if arguments.traces.is_dir() else iter(()),
            "inside": of_this_tree,
        }
        chosen = [arguments.only] if arguments.only else list(parts)
        print(machine())
        rows = [row for part in chosen for row in parts[part]()]
        print(tabulate([(what, *values) for what, values in rows], ("what", *(tree.name for tree in trees))))
        if "matrix" in chosen:
            print(f"\nslowest kernels of this tree (all cases, one judge's seconds)\n{slowest(trees[0])}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (CannotEdit, RuntimeError) as error:
        sys.exit(f"tests/speed: {error}")
