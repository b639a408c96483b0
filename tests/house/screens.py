"""docs/images/terminal-80.svg and terminal-120.svg: what a run of a small port shows on terminals of two widths.

``python -m tests.house.screens`` judges the port and writes them. The port has five kernels, of which two have a
mistake; what depends on the machine, the sandbox, is left out.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conformance import api
from conformance.files import ROOT
from conformance.report.terminal import render_terminal
from conformance.spec.load import load_specs
from conformance.text import Screen

FOLDER = ROOT / "docs" / "images"
WIDTHS = (80, 120)

_KERNEL = """extern "C" __global__ void fill_{0}({1} *buf, {1} value, size_t numel) {{
  {2} buf[i] = value;
}}
"""
_LOOP = "for (size_t i = FIRST; i {} numel; i += blockDim.x * gridDim.x)"
SOURCE = "#include <hip/hip_runtime.h>\n#define FIRST (blockIdx.x * blockDim.x + threadIdx.x)\n" + "".join(
    _KERNEL.format(*row)
    for row in (
        ("u8", "unsigned char", _LOOP.format("<=")),
        ("u32", "unsigned", _LOOP.format("<")),
        ("i64", "long long", _LOOP.format("<")),
        ("f32", "float", "size_t i = FIRST; if (i < numel)"),
        ("f64", "double", _LOOP.format("<")),
    )
)


def screens() -> dict[str, str]:
    """The pictures by their file's name."""
    with _port():
        record = api.judge("port", settings=api.Settings(runtime="cpu", wave=64, orders=("forward",)), jobs=1)
        record = record.model_copy(update={"run": record.run.model_copy(update={"sandbox": None})})
        return {f"terminal-{width}.svg": _picture(record, width) for width in WIDTHS}


@contextmanager
def _port() -> Iterator[None]:
    """A working directory with the port."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path("port").mkdir()
            Path("port/fill.hip").write_text(SOURCE)
            yield
        finally:
            os.chdir(before)


def _picture(record: api.Record, width: int) -> str:
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, _environ={})
    text = render_terminal(record, load_specs(), Screen(width, colour=True))
    console.print(Text("$ candle-parity run --kernels port", "bold"))
    console.print(Text.from_ansi(text), soft_wrap=True)
    svg = console.export_svg(title=f"{width} columns", unique_id=f"terminal-{width}")
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # which would fetch a font


if __name__ == "__main__":
    for name, svg in screens().items():
        (FOLDER / name).write_text(svg, encoding="utf-8")
