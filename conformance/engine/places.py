"""Where kernels are defined: lines of sources for those that fail, and the lengths of sources, for reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from conformance.engine.modes import Tree
from conformance.outcome import Outcome
from conformance.status import FAILED_LAUNCHES, Status

_PLACED: tuple[Status, ...] = (*FAILED_LAUNCHES, "signature")
_LINE = re.compile(r":\d+$")


def with_lines(outcomes: Mapping[str, Outcome], tree: Tree) -> dict[str, Outcome]:
    """``outcomes``, where kernels that were judged and fail have ``FILE:LINE`` in place of the file.

    Only the sources of these kernels are read. Where one cannot be read, its kernels keep the file.
    """
    lacking = {
        name: outcome
        for name, outcome in outcomes.items()
        if outcome.status in _PLACED and outcome.source and not _LINE.search(outcome.source)
    }
    if not lacking:
        return dict(outcomes)
    from conformance.port.check.source import read_tree  # what a run without a failure does without

    files = {outcome.source for outcome in lacking.values()}
    sources = [one for one in tree.sources if one.label in files and not one.is_code_object]
    places: dict[tuple[str | None, str], str] = {}
    for source, definitions in read_tree(sources, tree.options).definitions.items():
        for one in definitions:
            place = f"{source.label_of(str(one.file.resolve()))}:{one.line}"
            places.setdefault((source.label, one.name), place)
    placed = {
        name: outcome.model_copy(
            update={"source": places.get((outcome.source, outcome.port_name or name), outcome.source)}
        )
        for name, outcome in lacking.items()
    }
    return {**outcomes, **placed}


def source_lines(outcomes: Iterable[Outcome], tree: Tree) -> dict[str, int]:
    """The number of lines of each text source that defines a kernel of ``outcomes``, by label."""
    used = {outcome.source.rsplit(":", 1)[0] for outcome in outcomes if outcome.source}
    sources = [source for source in tree.sources if source.label in used and not source.is_code_object]
    return {
        source.label: len(source.loose_text().splitlines()) for source in sorted(sources, key=lambda one: one.label)
    }
