"""Many mutants in one tree: each change stands next to the original, and a number chooses at run time.

``selftest_select`` sets the number, ``selftest_hits`` says which changes the launches since the last choice came to.
Both are kernels of the tree, or host functions next to its launchers, and are launched as any other: no runtime knows
of them. What is computed at compile time is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.selftest.sites import Change

SWITCH = """#ifndef SELFTEST_COUNT
#define SELFTEST_COUNT {count}
static __device__ volatile int selftest_mutant;
static __device__ volatile unsigned char selftest_hit[SELFTEST_COUNT + 1];
#define SELFTEST_ON(n) (!__builtin_is_constant_evaluated() && selftest_on(n))
static __device__ inline __attribute__((always_inline)) bool selftest_on(int n) {{
  selftest_hit[n] = 1;
  return selftest_mutant == n;
}}
extern "C" __global__ void selftest_select(int n) {{
  selftest_mutant = n;
  for (int k = 0; k <= SELFTEST_COUNT; ++k) selftest_hit[k] = 0;
}}
extern "C" __global__ void selftest_hits(unsigned char *out) {{
  for (int k = 0; k <= SELFTEST_COUNT; ++k) out[k] = selftest_hit[k];
}}
extern "C" void selftest_select_host(int n) {{
  selftest_mutant = n;
  for (int k = 0; k <= SELFTEST_COUNT; ++k) selftest_hit[k] = 0;
}}
#if defined(__HIP_PLATFORM_AMD__)
#define SELFTEST_STREAM hipStream_t
#else
#define SELFTEST_STREAM cudaStream_t
#endif
#if defined(SIMT_LAUNCHERS)
extern "C" void selftest_hits_host(unsigned char *out, SELFTEST_STREAM stream) {{
  selftest_hits<<<1, 1, 0, stream>>>(out);
}}
#endif
#endif
"""

ORIGINAL = b"/* as it was */ "


@dataclass(frozen=True)
class Mutant:
    """A change of ``file``, a path below the root of ``tree``: ``old -> new`` in ``unit``."""

    tree: str
    file: str
    line: int
    operator: str
    old: str
    unit: str
    change: Change

    @property
    def id(self) -> str:
        return f"{self.tree}/{self.file}:{self.line}: {self.operator}: {self.old}"


@dataclass
class Edit:
    """A unit of a source in several versions: (number, text) each."""

    start: int
    end: int
    statement: bool
    macro: bool
    versions: list[tuple[int, bytes]]


def edited(text: bytes, edits: Sequence[Edit]) -> bytes:
    """``text`` with its units in every version; one unit may lie inside another."""
    ordered = sorted(edits, key=lambda edit: (edit.start, -edit.end))

    def render(start: int, end: int, inside: list[Edit]) -> bytes:
        out, at = b"", start
        while inside:
            first = inside.pop(0)
            nested: list[Edit] = []
            while inside and inside[0].start < first.end:
                nested.append(inside.pop(0))
            out += text[at : first.start] + one(first, nested)
            at = first.end
        return out + text[at:end]

    def one(edit: Edit, nested: list[Edit]) -> bytes:
        line = b"\\\n" if edit.macro else b"\n"
        original = line + ORIGINAL + render(edit.start, edit.end, nested)
        if edit.statement:
            chain = b"".join(b"%sif (SELFTEST_ON(%d)) { %s } else " % (line, *row) for row in edit.versions)
            return b"{ " + chain + b"{ " + original + b" } }"
        chain = b"".join(b"%sSELFTEST_ON(%d) ? (%s) : " % (line, *row) for row in edit.versions)
        return b"(" + chain + b"(" + original + b"))"

    return render(0, len(text), ordered)


def grouped(mutants: Mapping[int, Change], text: bytes) -> list[Edit]:
    """The changes of one source by their units."""
    units: dict[tuple[int, int], Edit] = {}
    for number, change in mutants.items():
        edit = units.setdefault(change.unit, Edit(*change.unit, change.statement, change.macro, []))
        edit.versions.append((number, change.applied(text)))
    return list(units.values())


def write_tree(source: Path, to: Path, mutants: Mapping[int, Mutant], module: str) -> None:
    """The source of ``module`` and all headers of the tree ``source``, with ``mutants`` by number."""
    for path in source.rglob("*"):
        if not path.is_file() or (path.suffix in (".hip", ".cu") and path.stem != module):
            continue
        text = path.read_bytes()
        name = path.relative_to(source).as_posix()
        mine = {number: mutant.change for number, mutant in mutants.items() if mutant.file == name}
        text = edited(text, grouped(mine, text)) if mine else text
        if path.stem == module and path.suffix in (".hip", ".cu"):
            switch = SWITCH.format(count=max(mutants, default=0)).encode()
            text = switch + text
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text)


_MARK = re.compile(r"^(?:if \()?SELFTEST_ON\((\d+)\)|^" + re.escape(ORIGINAL.decode()))


def number_at(lines: Sequence[str], line: int) -> int | None:
    """The mutant whose version has ``line``, counted from 1."""
    for text in reversed(lines[:line]):
        found = _MARK.match(text)
        if found:
            return int(found[1]) if found[1] else None
    return None
