"""The smallest edit of a spec that adds a kernel shaped like another one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from conformance.dtypes import DTYPES, SPELLINGS
from conformance.files import PACKAGE, REFERENCE, ROOT, kernels_folder
from conformance.spec.errors import SpecError
from conformance.spec.expand import expand
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs
from conformance.spec.model import Family, SpecFile
from conformance.spec.nodes import Location, read_document
from conformance.upstream.compare import words
from conformance.upstream.edit import Edit, edited, fitted, places

_AXIS = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Addition:
    """How a kernel is added: the file's new text, the line of the change, the lines to show, and what kind it is."""

    path: Path
    text: str
    line: int
    shown: str
    kind: str


def additions_like(folder: Path, specs: Specs, name: str, like: Kernel, upstream_line: int) -> Iterator[Addition]:
    """Ways to add ``name``, shaped like ``like`` and defined on ``upstream_line``, to the spec of ``like``.

    The smallest edit comes first: an entry of the row or table where the name fits the template of the stanza, then a
    stanza of its own. Whether the specs still load is for the caller to see.
    """
    path = folder / f"{like.module}.yaml"
    document = read_document(path)
    spec = SpecFile.model_validate(document.data)
    location = next(place for kernel, place in expand(document, spec) if kernel.name == like.name)
    index = int(location[1])
    stanza = spec.families[index]
    text = path.read_text(encoding="utf-8")
    values = _fitting(stanza, name, like)
    entry = None if values is None else _entry(text, stanza, index, values, upstream_line)
    if entry is not None and values is not None and _template(stanza, values) == name:
        edits, at, kind = entry
        edits += _tolerance(text, stanza, index, values, like)
        changed = edited(text, edits)
        line = text.count("\n", 0, at) + 1 + (1 if edits[0].text.startswith("\n") else 0)
        yield Addition(path, changed, line, changed.splitlines()[line - 1], kind)
    yield _new_stanza(path, text, name, like, values or {}, upstream_line)


def what_else(addition: Addition, name: str, like: Kernel) -> Iterator[str]:
    """What a person has to do besides the spec, each with file and line."""
    op = like.variant.get("op", "")
    kernels = kernels_folder()
    kernel = _at(kernels / f"{like.module}.hip", (like.name, op, like.family), kernels.parent)
    yield f"{kernel}: define {name} beside {like.name} (or in the port that --kernels names)"
    reference = _at(REFERENCE / f"{like.module}.py", (op, like.family), ROOT)
    if addition.kind == "new stanza" or op:
        yield f"{reference}: the maths of {name}, in numpy"
    else:
        yield f"{reference}: check that the reference takes the new {addition.kind} as it is"
    cases = _at_any(PACKAGE / "cases" / "families", like.launch, ROOT)
    yield f"{cases}: its cases come with the launch family {like.launch}; check its values"
    spec = f"{addition.path.parent.name}/{addition.path.name}:{addition.line}"
    yield f"{spec}: set the upstream line; check tolerance, notes and upstream_defects"


def _fitting(stanza: Family, name: str, like: Kernel) -> dict[str, str] | None:
    """The axis values that make the stanza's template say ``name``; ``None`` where it cannot."""
    parts = _AXIS.split(stanza.name)
    match = re.fullmatch(
        "".join(_group(stanza, part) if at % 2 else re.escape(part) for at, part in enumerate(parts)), name
    )
    if match is None:
        return None
    values = {axis: _unspelled(stanza, axis, text) for axis, text in match.groupdict().items()}
    fixed = all(like.variant.get(axis) == value for axis, value in values.items() if axis in stanza.variant)
    return values if fixed else None


def _group(stanza: Family, axis: str) -> str:
    if not axis.endswith("dtype"):
        return f"(?P<{axis}>.+)"
    known = sorted({*DTYPES, *SPELLINGS, *stanza.spelling.values()}, key=len, reverse=True)
    return f"(?P<{axis}>{'|'.join(map(re.escape, known))})"


def _unspelled(stanza: Family, axis: str, text: str) -> str:
    for value, spelled in stanza.spelling.items():
        if spelled == text:
            return value
    return SPELLINGS.get(text, text) if axis.endswith("dtype") else text


def _entry(
    text: str, stanza: Family, index: int, values: dict[str, str], line: int
) -> tuple[list[Edit], int, str] | None:
    """An entry more in the stanza's row or table: the edit, where in the text it is, and what kind of entry it is."""
    base: Location = ("families", index)
    if stanza.row is not None:
        value = values.get(stanza.row.axis)
        edit = None if value is None else _put(text, (*base, "row", "lines"), value, str(line))
        return None if edit is None else ([edit], edit.start, "row entry")
    table = stanza.table
    assert table is not None
    (axis, columns), *_ = table.columns.items()
    row, column = values.get(table.rows), values.get(axis)
    if row is None or column is None or column not in columns:
        return None
    position = columns.index(column)
    if row in table.lines:
        spot = places(text)[(*base, "table", "lines", row, position)]
        return [fitted(text, spot, str(line))], spot.start, "table cell"
    cells = ", ".join(str(line) if place == position else "~" for place in range(len(columns)))
    edit = _put(text, (*base, "table", "lines"), row, f"[{cells}]")
    return None if edit is None else ([edit], edit.start, "table row")


def _tolerance(text: str, stanza: Family, index: int, values: dict[str, str], like: Kernel) -> list[Edit]:
    """The new values next to the like kernel's own, in the rules of tolerance that name that one."""
    edits = []
    for number, rule in enumerate(stanza.tolerance):
        for axis, wanted in rule.when.items():
            own = like.variant.get(axis)
            if axis in values and own in wanted and values[axis] not in wanted:
                spot = places(text)[("families", index, "tolerance", number, "when", axis, wanted.index(own))]
                edits.append(Edit(spot.end, spot.end, f", {values[axis]}"))
    return edits


def _template(stanza: Family, values: dict[str, str]) -> str | None:
    try:
        return _AXIS.sub(lambda match: stanza.spelling.get(values[match[1]], values[match[1]]), stanza.name)
    except KeyError:
        return None


def _put(text: str, location: Location, key: str, value: str) -> Edit | None:
    """A key more at the end of the mapping at ``location``; ``None`` where it has that key already."""
    node = _node(text, location)
    if not isinstance(node, yaml.MappingNode) or any(str(known.value) == key for known, _ in node.value):
        return None
    last = node.value[-1][1].end_mark.index
    if node.flow_style:
        return Edit(last, last, f", {key}: {value}")
    column = node.value[-1][0].start_mark.column
    end = text.find("\n", last)
    end = len(text) if end < 0 else end
    return Edit(end, end, f"\n{' ' * column}{key}: {value}")


def _node(text: str, location: Location) -> yaml.Node | None:
    node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    for part in location:
        if isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if str(key.value) == part), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            node = node.value[part]
        else:
            return None
    return node


def _new_stanza(path: Path, text: str, name: str, like: Kernel, values: dict[str, str], line: int) -> Addition:
    """A stanza for one kernel, with the parameters, tolerance and variant of ``like`` written out."""
    axis, value, template = _one_axis(name, like)
    spelled = name.removeprefix(template.split("{")[0]) if axis == "dtype" else value
    lines = [f"  - family: {like.family}"]
    if like.launch != like.family:
        lines.append(f"    launch: {like.launch}")
    lines.append(f'    name: "{template}"')
    if spelled != value:
        lines.append(f"    spelling: {{{value}: {spelled}}}")
    variant = {key: text for key, text in {**like.variant, **values}.items() if key != axis}
    if variant:
        lines.append("    variant: {" + ", ".join(f"{key}: {_quoted(text)}" for key, text in variant.items()) + "}")
    lines.append("    params:")
    for parameter in like.params:
        own = axis == "dtype" and parameter.dtype == like.variant.get("dtype")
        shown = words(parameter)
        lines.append("      " + (shown.replace(f" {parameter.dtype}", " {dtype}") if own else shown))
    lines += ["    row:", f"      axis: {axis}", f"      lines: {{{_quoted(value)}: {line}}}"]
    source = like.tolerance.source.replace('"', "'")
    bounds = f"ulp: {like.tolerance.ulp}, library_ulp: {like.tolerance.library_ulp}"
    lines += ["    tolerance:", f'      - {{{bounds}, source: "{source}"}}']
    shown = "\n".join(lines)
    begun = text if text.endswith("\n") else text + "\n"
    return Addition(path, f"{begun}\n{shown}\n", begun.count("\n") + 2, shown, "new stanza")


def _one_axis(name: str, like: Kernel) -> tuple[str, str, str]:
    """The axis that tells the new kernel, its value, and the name template: by its dtype, else by its whole name."""
    if "dtype" in like.variant:
        for spelled, dtype in SPELLINGS.items():
            if name.endswith(f"_{spelled}"):
                return "dtype", dtype, f"{name.removesuffix(f'_{spelled}')}_{{dtype}}"
    return "op", name, "{op}"


def _quoted(text: str) -> str:
    return f'"{text}"' if text.isdigit() or text in ("yes", "no", "on", "off", "true", "false") else text


def _at(path: Path, words: Sequence[str], root: Path) -> str:
    """``file:line`` of the first of ``words`` that the file has: where it is defined, quoted or mentioned."""
    shown = path.relative_to(root).as_posix()
    if not path.is_file():
        return f"{shown} (a new file)"
    lines = path.read_text(encoding="utf-8").splitlines()
    for word in map(re.escape, filter(None, words)):
        for form in (rf"^\s*def \w*{word}", rf"[\"']{word}[\"']", rf"^[^\"'/#]*\b{word}\b"):
            for number, line in enumerate(lines, 1):
                if re.search(form, line):
                    return f"{shown}:{number}"
    return f"{shown}:{len(lines)}"


def _at_any(folder: Path, word: str, root: Path) -> str:
    for path in sorted(folder.glob("*.py")):
        if re.search(rf"[\"']{re.escape(word)}[\"']", path.read_text(encoding="utf-8")):
            return _at(path, (word,), root)
    return f"{folder.relative_to(root).as_posix()} (no family is called {word} yet)"


def check_new(specs: Specs, folder: Path, name: str) -> None:
    """Raises ``SpecError`` for a name that is taken or is no C name."""
    if name in specs.kernels:
        kernel = specs.kernels[name]
        raise SpecError(
            folder / f"{kernel.module}.yaml", None, f"kernel {name!r} is there already", "give another name"
        )
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise SpecError(folder, None, f"{name!r} is no C name", "use letters, digits and underscores")
