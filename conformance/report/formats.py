"""The files that a report can be written to: for each an option of the command line, and what renders it.

A further one is a module with a function ``render_X(records, specs)``, a row here, and a row of
``conformance.settings`` for its option. Only what is asked for is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from conformance.record import Record
from conformance.spec.load import Specs

FileFormat = Literal["html", "junit", "md", "summary"]


@dataclass(frozen=True)
class Format:
    """A report that is written to the file which ``option`` names: ``function`` of ``module`` renders it.

    Beyond records and specs it ``takes`` by name what is known of the run: the ``baseline`` (a record), the
    ``source_url`` of the port, and what the gates make of failures (``asked``).
    """

    option: FileFormat
    module: str
    function: str
    takes: tuple[str, ...] = ()

    def render(self, records: Sequence[Record], specs: Specs, known: Mapping[str, Any]) -> str:
        """The text of the report."""
        function = getattr(import_module(f"conformance.report.{self.module}"), self.function)
        text: str = function(records, specs, **{name: known[name] for name in self.takes})
        return text


FORMATS = (
    Format("md", "markdown", "render_markdown"),
    Format("html", "html", "render_html", ("baseline", "source_url")),
    Format("summary", "summary", "render_summary", ("baseline",)),
    Format("junit", "ci", "render_junit", ("asked",)),
)
