"""Builds a tree of kernels in which many do harm and the rest are this repository's own, under their own names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from conformance.status import Status
from tests.harm.broken_files import COMPILED, LOADED, BrokenFile
from tests.harm.faults import FAULTS, FUNCTION, PLACES, SUPPORT, Fault

ROOT = Path(__file__).resolve().parents[2]

_TYPES = {
    "f64": "double",
    "f32": "float",
    "f16": "f16",
    "bf16": "bf16",
    "f8e4m3": "f8",
    "f8_e4m3": "f8",
    "fp8_e4m3": "f8",
    "i64": "__INT64_TYPE__",
    "i32": "int",
    "i16": "short",
    "u32": "unsigned int",
    "u8": "unsigned char",
}
_OUTPUTS = ("out", "dst", "buf")
_COUNTS = {
    "fill": "numel",
    "argsort": "size_t(gridDim.x) * size_t(ncols)",
    **dict.fromkeys(("affine", "where", "unary", "unary1", "cast"), "numel"),
}
"""The elements of the output, where it is contiguous."""

_HIP = "#include <hip/hip_runtime.h>\n"
_SMALL_FLOATS = (
    "struct f16 { unsigned short bits; };\nstruct bf16 { unsigned short bits; };\nstruct f8 { unsigned char bits; };\n"
)
_FILL = (
    "{ for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) buf[i] = value; }"
)


SMALL = {"fill": 13, "sort": 11, "affine": 8, "ternary": 6}
FULL = {"fill": 12, "sort": 11, "affine": 9, "ternary": 20, "unary": 70, "cast": 40, "reduce": 35}
"""How many kernels of a module may do harm, not counting the family ``fill``; the rest of the module is healthy."""

SMALL_FAULTS = (
    "write just past the end", "write far past the end", "read of null", "write to null", "endless recursion",
    "frame of 1 MiB", "index past a shared array", "heap overwritten", "everything unmapped", "nothing written",
    "one wrong element, the last", "input overwritten", "endless loop", "ignores signals and loops",
    "prints for ever", "trap", "failed assert", "exit(0)", "_exit(0)", "raise(SIGKILL)", "uneven count of barriers",
    "throws", "all descriptors closed", "garbage to descriptors", "interval timer", "thread that goes on",
    "exit handler that loops", "traps on inexact results from here on", "fork()", "open() for writing",
)  # fmt: skip
SMALL_FILES = (
    "syntax error", "header is a FIFO", "template bomb", "other parameters", "NUL byte in a comment",
    "constructor: _exit(0)", "constructor: SIGKILL", "constructor: endless loop", "constructor: throws",
    "destructor: endless loop",
)  # fmt: skip


@dataclass
class Tree:
    """A folder of kernels, with the statuses that are right for each of them, and what the harmful ones do.

    ``markers`` is a folder into which no kernel may get a file.
    """

    path: Path
    markers: Path
    expected: dict[str, frozenset[Status]] = field(default_factory=dict)
    harm: dict[str, str] = field(default_factory=dict)

    def mistakes(self, record: dict[str, Any]) -> list[str]:
        """A line for every kernel of ``record`` with a status that is not right for it."""
        return [
            f"{row['name']} ({self.harm.get(row['name'], 'healthy')}): {row['status']}, expected "
            f"{' or '.join(sorted(self.expected[row['name']]))}; {row.get('message')}; {(row['failures'] or [None])[0]}"
            for row in record["kernels"]
            if row["status"] not in self.expected[row["name"]]
        ]


@cache
def _kernels() -> tuple[dict[str, Any], ...]:
    words = [sys.executable, "-m", "conformance.cli.main", "list", "--json"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return tuple(json.loads(done.stdout)["kernels"])


def build(folder: Path, *, small: bool, sandbox: bool = True) -> Tree:
    """The tree in ``folder``; without ``sandbox`` it holds nothing that only a sandbox stops."""
    faults = [fault for fault in FAULTS if sandbox or not fault.forbidden]
    jobs = [(fault, place) for fault in faults for place in fault.places]
    files = [file for file in (*COMPILED, *LOADED) if sandbox or not file.forbidden]
    if small:
        jobs = [(fault, fault.places[-1]) for fault in faults if fault.name in SMALL_FAULTS]
        files = [file for file in files if file.name in SMALL_FILES]
    return _Builder(folder, SMALL if small else FULL).build(jobs, files)


class _Builder:
    def __init__(self, folder: Path, shares: dict[str, int]) -> None:
        self._shares = shares
        self._tree = Tree(folder / "tree", folder / "markers")
        self._free = list(_in_turn(shares))
        for path in (self._tree.path, self._tree.markers):
            path.mkdir(parents=True)
        (folder / "kept").write_text("as it was")
        self._support = SUPPORT.replace("MARKERS", str(self._tree.markers))

    def build(self, jobs: Sequence[tuple[Fault, str]], files: Sequence[BrokenFile]) -> Tree:
        tree = self._tree
        for row in _kernels():
            tree.expected[row["name"]] = frozenset({"pass" if row["module"] in self._shares else "missing"})
        for number, file in enumerate(files):
            self._file(number, file)
        running = self._assigned(jobs)
        for module in self._shares:
            self._wrapper(module, [job for job in running if job[0]["module"] == module])
        os.mkfifo(tree.path / "fifo.h")
        os.mkfifo(tree.path / "pipe.hip")
        (tree.path / "folder.h").mkdir()
        (tree.path / "folder.hip").mkdir()
        (tree.path / "dangling.hip").symlink_to(tree.path / "nowhere.hip")
        return tree

    def _assigned(self, jobs: Sequence[tuple[Fault, str]]) -> list[tuple[dict[str, Any], Fault, str]]:
        assigned = []
        for fault, place in sorted(jobs, key=lambda job: not (job[0].needs_input or "count" in job[0].code)):
            row = next(row for row in self._free if _suits(row, fault))
            self._free.remove(row)
            self._harm(row, f"{fault.name}, {place}", fault.expected)
            assigned.append((row, fault, place))
        return assigned

    def _harm(self, row: dict[str, Any], what: str, expected: frozenset[Status]) -> None:
        self._tree.harm[row["name"]] = what
        self._tree.expected[row["name"]] = expected

    def _file(self, number: int, file: BrokenFile) -> None:
        runs = "pass" in file.expected
        fills = (row for row in _kernels() if row["family"] == "fill" and row["name"] not in self._tree.harm)
        row = next(fills) if runs else self._free.pop()
        self._harm(row, file.name, file.statuses)
        name = f"broken_{number:02}.hip"
        text = file.text.replace("SUPPORT", self._support).replace("FILE", name)
        text = text.replace("MARKERS", str(self._tree.markers)).replace("NAME", row["name"])
        body = _FILL if runs else "{}"
        text = text.replace("KERNEL", f'extern "C" __global__ void {row["name"]}({_parameters(row)}) {body}')
        start, text = (text[0], text[1:]) if text.startswith("\ufeff") else ("", text)
        encoding = "latin-1" if "Latin-1" in file.name else "utf-8"
        (self._tree.path / name).write_bytes((start + _HIP + _SMALL_FLOATS + text + "\n").encode(encoding))

    def _wrapper(self, module: str, jobs: Sequence[tuple[dict[str, Any], Fault, str]]) -> None:
        """The module's file: its own source with the harmful kernels renamed, and behind it the harmful ones."""
        names = [row["name"] for row in _kernels() if row["module"] == module and row["name"] in self._tree.harm]
        lines = [f"#define {name} healthy_{name}" for name in names]
        lines.append(f'#include "{ROOT}/kernels/{module}.hip"')
        lines += [f"#undef {name}" for name in names]
        lines.append(self._support)
        lines += [_kernel(*job).replace("MARKERS", str(self._tree.markers)) for job in jobs]
        (self._tree.path / f"{module}.hip").write_text("\n".join(lines) + "\n")


def _in_turn(shares: dict[str, int]) -> Iterator[dict[str, Any]]:
    """The kernels that may do harm, module by module in turn, from all over a module."""
    chosen = []
    for module, share in shares.items():
        rows = [row for row in _kernels() if row["module"] == module and row["family"] != "fill"]
        chosen.append([rows[index * len(rows) // share] for index in range(share)])
    for rows in zip_longest(*chosen):
        yield from (row for row in rows if row is not None)


def _suits(row: dict[str, Any], fault: Fault) -> bool:
    if "count" in fault.code and row["family"] not in _COUNTS:
        return False
    return not fault.needs_input or _input(row) is not None


def _input(row: dict[str, Any]) -> str | None:
    pointers = [p["name"] for p in row["params"] if p["pointer"] and p["name"] not in (*_OUTPUTS, "info")]
    return pointers[0] if pointers else None


def _parameters(row: dict[str, Any]) -> str:
    def words(parameter: dict[str, Any]) -> str:
        constant = "const " if parameter["pointer"] and parameter["name"] not in _OUTPUTS else ""
        kind = _TYPES.get(parameter["dtype"], parameter["dtype"])
        return f"{constant}{kind} {'*' if parameter['pointer'] else ''}{parameter['name']}"

    return ", ".join(words(parameter) for parameter in row["params"])


def _kernel(row: dict[str, Any], fault: Fault, place: str) -> str:
    """The definition of a kernel that commits ``fault`` at ``place``."""
    name = row["name"]
    work = f"healthy_{name}({', '.join(parameter['name'] for parameter in row['params'])});"
    target = next(p["name"] for p in row["params"] if p["name"] in _OUTPUTS)
    source = _input(row) or "(const unsigned char *)nullptr"
    body = PLACES[place].replace("FUNCTION", f"fault_of_{name}(target, source, count);")
    body = body.replace("CODE", fault.code).replace("WORK", work)
    function = ""
    if place == FUNCTION:
        function = (
            "template <class T, class S>\n__device__ __attribute__((noinline)) static void "
            f"fault_of_{name}(T *target, S *source, size_t count) {{ {fault.code} }}\n"
        )
    return (
        f"// {fault.name}, {place}\n{function}"
        f'extern "C" __global__ void {name}({_parameters(row)}) {{\n'
        f"  auto *const target = {target};\n  auto *const source = {source};\n"
        f"  const size_t count = {_COUNTS.get(row['family'], '0')};\n"
        f"  (void)target, (void)source, (void)count;\n  {body}\n}}"
    )
