"""Reports: pure functions from records and specs to text. The percentage is always over every kernel of the specs.

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
