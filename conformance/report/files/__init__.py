"""The reports that are written to a file: a module for each, named as its option. No other file names them.

A module has a docstring that begins "``--NAME F``: what it does.", which ``--help`` shows, and ``render``, from records
and specs to the text of the file. By name ``render`` may take what else is known of the run: the ``baseline`` (a
record, or ``None``), the ``source_url`` of the port, and what the gates make of failures (``asked``). ``ALSO`` names
commands that have the option besides `run`, `replay` and `report`::

    \"\"\"``--names F``: write the names of the kernels that pass.\"\"\"

    def render(records: Sequence[Record], specs: Specs) -> str:
        passing = (row.name for record in records for row in record.kernels if row.status == "pass")
        return "".join(f"{name}\\n" for name in passing)

Only the reports that are asked for are imported.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.option import OUTPUT, REPORTING, Option

if TYPE_CHECKING:
    from conformance.record import Record
    from conformance.spec.load import Specs

_FOLDER = Path(__file__).parent
_FIRST = ("md", "html", "summary", "junit")
"""In this order, the others follow by name."""


@dataclass(frozen=True)
class ReportFile:
    """A report that is written to a file, which the option of its name names. ``commands`` have the option."""

    name: str
    help: str
    commands: tuple[str, ...]

    @property
    def option(self) -> Option:
        """The option, as if it were a row of ``conformance.settings``."""
        return Option(
            (f"--{self.name}",), self.help, self.commands, OUTPUT, read=Path, metavar="F", name=self.name, default=None
        )

    def render(self, records: Sequence[Record], specs: Specs, known: Mapping[str, Any]) -> str:
        """The text of the report. Of ``known``, what is known of the run, it gets the values that its ``render`` takes
        by name."""
        render = import_module(f"{__name__}.{self.name}").render
        takes = inspect.signature(render).parameters.keys() & known.keys()
        text: str = render(records, specs, **{name: known[name] for name in takes})
        return text


@cache
def report_files() -> tuple[ReportFile, ...]:
    """Every report that can be written, in the order of ``--help``."""
    names = sorted(file.stem for file in _FOLDER.glob("*.py") if file.stem != "__init__")
    first = [name for name in _FIRST if name in names]
    return tuple(map(_read, (*first, *(name for name in names if name not in first))))


def _read(name: str) -> ReportFile:
    """The report ``name``, from its text: it is not imported."""
    tree = ast.parse((_FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    first = (ast.get_docstring(tree) or "").partition("\n\n")[0]
    also: tuple[str, ...] = ()
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["ALSO"]:
            also = ast.literal_eval(node.value)
    return ReportFile(name, " ".join(first.partition(": ")[2].split()).removesuffix("."), (*REPORTING, *also))
