"""Lines of the kernels that fail, where their code object does not say them: an AMD GPU's and the isa runtime's."""

from __future__ import annotations

import re
from collections.abc import Sequence

from conformance.engine.modes import Tree
from conformance.outcome import Status
from conformance.port.check.source import read_tree
from conformance.record.model import KernelResult

_JUDGED: tuple[Status, ...] = ("fail", "crash", "timeout", "signature")
_LINE = re.compile(r":\d+$")


def with_lines(rows: Sequence[KernelResult], tree: Tree) -> list[KernelResult]:
    """``rows`` with ``FILE:LINE`` in place of the file of each kernel that was judged and fails.

    Only the sources of such kernels are read; one that cannot be read leaves its kernels as they are.
    """
    lacking = {row.name for row in rows if row.status in _JUDGED and row.source and not _LINE.search(row.source)}
    files = {row.source for row in rows if row.name in lacking}
    sources = [one for one in tree.sources if one.label in files and not one.is_code_object]
    places: dict[tuple[str | None, str], str] = {}
    for source, definitions in (read_tree(sources, tree.options).definitions if sources else {}).items():
        for one in definitions:
            place = f"{source.label_of(str(one.file.resolve()))}:{one.line}"
            places.setdefault((source.label, one.name), place)
    return [
        row.model_copy(update={"source": places.get((row.source, row.port_name or row.name), row.source)})
        if row.name in lacking
        else row
        for row in rows
    ]
