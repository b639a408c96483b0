"""A tree of healthy kernels, some of them slow, for runs that are disturbed from outside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.harm.running import cli
from tests.harm.trees import ROOT

MODULES = ("fill", "sort", "affine")
KERNELS = 48
LIMIT = ("--compile-timeout", 120)

Check = Callable[..., None]
"""``check(run, record)``: the run ended, its record is the undisturbed one, and nothing is left."""

SLOW = """
static __attribute__((noinline)) void wait_a_little() {
  if (blockIdx.x + threadIdx.x == 0)
    for (volatile int i = 0; i < 3000000; i = i + 1) {
    }
}
"""
"""Makes each launch of a kernel take milliseconds, so that there is a while to disturb a run in."""

SLOWED = ("fill_u8", "fill_f32", "fill_i64", "fill_u32")


def _slow_fill(folder: Path) -> None:
    parameters = {"u8": "u8", "f32": "f32", "i64": "i64", "u32": "u32"}
    lines = [f"#define {name} quick_{name}" for name in SLOWED]
    lines.append(f'#include "{ROOT}/kernels/fill.hip"')
    lines += [f"#undef {name}" for name in SLOWED]
    lines.append(SLOW)
    lines += [
        f'extern "C" __global__ void fill_{kind}({kind} *buf, {kind} value, const size_t numel) '
        f"{{ wait_a_little(); quick_fill_{kind}(buf, value, numel); }}"
        for kind in parameters
    ]
    (folder / "fill.hip").write_text("\n".join(lines) + "\n")


def write_tree(folder: Path) -> None:
    """Three modules of this repository, with some kernels of ``fill`` made slow."""
    folder.mkdir()
    _slow_fill(folder)
    for module in MODULES[1:]:
        (folder / f"{module}.hip").write_text(f'#include "{ROOT}/kernels/{module}.hip"\n')


def words(tree: Path, record: Path, *more: object, jobs: int = 2) -> list[object]:
    """The words that put ``tree`` on trial."""
    return cli("run", "--runtime", "cpu", "--kernels", tree, "--json", record, "-j", jobs, *LIMIT, *more)
