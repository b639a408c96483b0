"""Reports: pure functions from records and specs to text. The percentage is always over every kernel of the specs.

    >>> from conformance.record import Record
    >>> from conformance.record.model import RunInfo, every_kernel
    >>> from conformance.report.terminal import verdict_line
    >>> from conformance.spec.load import load_specs
    >>> from conformance.text import LOG
    >>> specs = load_specs()
    >>> run = RunInfo(
    ...     runtime="isa", device="interpreter", arch="gfx942", wave=64, started="2026-01-02T03:04:05Z", seconds=1.0,
    ...     upstream_commit="2a13b0f3",
    ... )
    >>> print(*verdict_line(Record.of(run, every_kernel(specs, [])), specs, LOG).split("; "), sep="\\n")
    isa gfx942 wave64: 0 of 748 kernels at parity (0.0%), 0 of 49 launchers
    AMD machine code for gfx942, interpreted
    not a GPU

For scripts every renderer is a name of this package, which is imported when it is asked for::

    from conformance.record import read_record
    from conformance.report import render_markdown
    from conformance.spec.load import load_specs

    print(render_markdown(read_record(Path("record.json")), load_specs()))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.report.ci import render_junit
    from conformance.report.html import render_html
    from conformance.report.markdown import render_markdown
    from conformance.report.short_report import render_summary
    from conformance.report.terminal import render_terminal

__all__ = ["render_html", "render_junit", "render_markdown", "render_summary", "render_terminal"]

_MODULES = {"render_junit": "ci", "render_summary": "short_report"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULES.get(name, name.removeprefix("render_"))
    return getattr(import_module(f"{__name__}.{module}"), name)
