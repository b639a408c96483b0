"""Changes numbers of a YAML file in their places, so that its formatting and comments stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from conformance.spec import SpecError
from conformance.spec.expand import expand
from conformance.spec.load import Specs
from conformance.spec.model import SpecFile
from conformance.spec.nodes import Location, read_document
from conformance.upstream.compare import Drift, Move


@dataclass(frozen=True)
class ScalarPlace:
    """The characters of a file's text that are one scalar. ``aligned``: it is in a list whose columns line up."""

    start: int
    end: int
    aligned: bool


@dataclass(frozen=True)
class Edit:
    """A replacement: the characters from ``start`` to ``end`` of a text become ``text``."""

    start: int
    end: int
    text: str


def updated_specs(folder: Path, specs: Specs, drift: Drift) -> dict[Path, str]:
    """The new text of each spec file in which ``drift`` changes upstream lines or source lengths.

    Raises ``SpecError`` where one number in a file would have to become two.
    """
    texts: dict[Path, str] = {}
    moved = [move for move in drift.moved if not leaves_its_file(specs, move)]
    lines = {move.kernel.name: move.definition.line for move in moved}
    lengths = {length.module: length.now for length in drift.lengths}
    touched = {move.kernel.module for move in moved} | lengths.keys()
    for module in specs.modules:
        if module not in touched:
            continue
        path = folder / f"{module}.yaml"
        document = read_document(path)
        spec = SpecFile.model_validate(document.data)
        values: dict[Location, int] = {
            location: lines[kernel.name] for kernel, location in expand(document, spec) if kernel.name in lines
        }
        if module in lengths:
            values["source_lines",] = lengths[module]
        texts[path] = replaced(path, path.read_text(encoding="utf-8"), values)
    return texts


def leaves_its_file(specs: Specs, move: Move) -> bool:
    """Whether the kernel is in another source now than its spec says, which no change of a number can express."""
    return move.definition.file.name != specs.modules[move.kernel.module].source


def replaced(path: Path, text: str, values: Mapping[Location, int]) -> str:
    """``text`` with new ``values`` for the scalars at some locations. ``path`` is for the message of a
    ``SpecError``."""
    known = places(text)
    edits: dict[ScalarPlace, int] = {}
    for location, value in values.items():
        spot = known[location]
        if edits.setdefault(spot, value) != value:
            line = text.count("\n", 0, spot.start) + 1
            raise SpecError(
                path,
                line,
                f"one number is shared by kernels that are now on lines {edits[spot]} and {value}",
                "write the anchored mapping out in both places, then run again",
            )
    return edited(text, [fitted(text, spot, str(value)) for spot, value in edits.items()])


def fitted(text: str, spot: ScalarPlace, new: str) -> Edit:
    """The edit that writes ``new`` at ``spot``. In an aligned list the columns stay, if the blanks allow it."""
    start, width = spot.start, spot.end - spot.start
    if spot.aligned and len(new) < width:
        new = new.rjust(width)
    while spot.aligned and len(new) > spot.end - start and text[start - 2 : start] in ("  ", "[ "):
        start -= 1  # a blank that aligned the column makes room
    return Edit(start, spot.end, new)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """``text`` after all ``edits``, whose positions refer to the text before them."""
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def places(text: str) -> dict[Location, ScalarPlace]:
    """The place of every scalar of a YAML text, by its path. Keys of mappings are texts."""
    scalars: dict[Location, ScalarPlace] = {}
    # The Python parser: its marks count characters, libyaml's do not.
    root = yaml.compose(text, Loader=yaml.SafeLoader)

    def visit(node: yaml.Node, location: Location, aligned: bool) -> None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                visit(value, (*location, str(key.value)), False)
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                visit(value, (*location, index), bool(node.flow_style))
        else:
            scalars[location] = ScalarPlace(node.start_mark.index, node.end_mark.index, aligned)

    if root is not None:
        visit(root, (), False)
    return scalars


def node_at(text: str, location: Location) -> yaml.Node | None:
    """The node of a YAML text at ``location``, with its marks; ``None`` where there is none."""
    node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    for part in location:
        if isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if str(key.value) == part), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
        else:
            return None
    return node


def put_keys(text: str, location: Location, items: Mapping[str, str]) -> Edit | None:
    """The edit that adds ``items`` at the end of the mapping at ``location``; ``None`` where it has one of the keys
    already."""
    node = node_at(text, location)
    if not isinstance(node, yaml.MappingNode) or any(str(known.value) in items for known, _ in node.value):
        return None
    key, value = node.value[-1]
    if node.flow_style:
        end = value.end_mark.index
        return Edit(end, end, "".join(f", {name}: {content}" for name, content in items.items()))
    column = key.start_mark.column
    width = value.start_mark.column - column - 1 if value.start_mark.line == key.start_mark.line else 0
    end = _end_of_line(text, value)
    lines = (f"\n{' ' * column}{f'{name}:'.ljust(width)} {content}" for name, content in items.items())
    return Edit(end, end, "".join(lines))


def put_rule(text: str, location: Location, rule: Callable[[int], str], flow: str) -> Edit | None:
    """The edit that adds an entry at the end of the list at ``location``.

    In a block list it is ``rule(column)``, with the column of the dashes, in a list in brackets it is ``flow``.
    """
    node = node_at(text, location)
    if not isinstance(node, yaml.SequenceNode):
        return None
    if node.flow_style:
        end = node.value[-1].end_mark.index
        return Edit(end, end, f", {flow}")
    end = _end_of_line(text, node)
    return Edit(end, end, "\n" + rule(node.start_mark.column))


def row_like(text: str, location: Location, cells: Sequence[str]) -> str:
    """``cells`` as a list whose columns line up with those of the list at ``location``."""
    node = node_at(text, location)
    if not isinstance(node, yaml.SequenceNode) or not node.flow_style or len(node.value) != len(cells):
        return f"[{', '.join(cells)}]"
    shown, start = "", node.start_mark.index + 1
    for index, (cell, known) in enumerate(zip(cells, node.value, strict=True)):
        width = known.end_mark.index - start
        start = known.end_mark.index + 1
        shown += ("," if index else "") + (f" {cell}" if index else cell).rjust(width)
    return f"[{shown}]"


def _end_of_line(text: str, node: yaml.Node) -> int:
    """The end of the line of the last scalar in ``node``: a block's own end mark lies behind blanks and comments."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    end = text.find("\n", node.end_mark.index)
    return len(text) if end < 0 else end
