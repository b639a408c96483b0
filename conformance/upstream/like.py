"""The smallest edit of a spec that adds kernels shaped like another one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.dtypes import DTYPES, SPELLINGS
from conformance.spec import SpecError
from conformance.spec.entry import ROWS
from conformance.spec.expand import expand
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs
from conformance.spec.model import Axis, Family, SpecFile
from conformance.spec.nodes import Location, read_document
from conformance.upstream.compare import describe_parameter
from conformance.upstream.edit import Edit, edited, fitted, places, put_keys, put_rule, row_like
from conformance.upstream.new_kernels import Bound, like_bound, scalar, split_dtype

_AXIS = re.compile(r"\{(\w+)\}")

Values = Mapping[str, str]


@dataclass(frozen=True)
class Addition:
    """A way to add kernels to a spec: the file's new text, the first changed line, the lines to show, and the kind of
    the change.

    ``joins`` says that a rule of the stanza holds for the new kernels as it is, so that no tolerance has to be given.
    """

    path: Path
    text: str
    line: int
    shown: str
    kind: str
    joins: bool = False


@dataclass(frozen=True)
class Origin:
    """The stanza that defines a kernel, in the text of its file."""

    path: Path
    text: str
    index: int
    stanza: Family
    like: Kernel

    @property
    def place(self) -> Location:
        """The path of the stanza in the YAML."""
        return ("families", self.index)


def origin_of(folder: Path, like: Kernel) -> Origin:
    """The stanza in the specs of ``folder`` that defines ``like``."""
    path = folder / f"{like.module}.yaml"
    document = read_document(path)
    spec = SpecFile.model_validate(document.data)
    location = next(place for kernel, place in expand(document, spec) if kernel.name == like.name)
    index = int(location[1])
    return Origin(path, path.read_text(encoding="utf-8"), index, spec.families[index], like)


def additions_like(origin: Origin, lines: Mapping[str, int], bound: Bound | None) -> Iterator[Addition]:
    """Ways to add the kernels of ``lines`` (upstream line by name), shaped like the kernel of ``origin``.

    ``bound`` is their tolerance where no rule of the stanza holds for them; ``None`` stands for the tolerance of the
    kernel of ``origin``. The smallest edit comes first: entries of the row or table, if the names fit the template of
    the stanza; then a stanza of their own. The caller has to find out whether the specs still load. Raises
    ``SpecError`` for names that neither can express.
    """
    text, stanza = origin.text, origin.stanza
    found = {name: _fitting(stanza, name, origin.like) for name in lines}
    fitting = {name: values for name, values in found.items() if values is not None}
    if len(fitting) == len(lines) and all(_template(stanza, values) == name for name, values in fitting.items()):
        entry = _entries(origin, [(values, lines[name]) for name, values in fitting.items()])
        rules = _tolerance(origin, list(fitting.values()), bound)
        if entry is not None and rules is not None:
            edits, kind = entry
            yield _addition(origin, edited(text, [*edits, *rules]), kind, joins=not rules)
    yield _new_stanza(origin, lines, fitting, bound)


def check_new(specs: Specs, folder: Path, names: Sequence[str]) -> None:
    """Raises ``SpecError`` for those of ``names`` that a kernel has already."""
    there = specs.entries
    taken = [there[name] for name in names if name in there]
    if taken:
        kind = ROWS[taken[0].entry]
        shown, many = ", ".join(f"{kernel.name} ({kernel.upstream})" for kernel in taken), len(taken) > 1
        raise SpecError(
            folder / f"{taken[0].module}.yaml",
            None,
            f"{kind.plural if many else kind.noun} {shown} {'are' if many else 'is'} there already",
            "leave out what is there" if len(taken) < len(names) else "give another name",
        )


def _addition(origin: Origin, changed: str, kind: str, joins: bool = False) -> Addition:
    before, after = origin.text.splitlines(), changed.splitlines()
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    spans = [(start, end) for tag, _, _, start, end in blocks if tag in ("insert", "replace")]
    shown = "\n".join(line for start, end in spans for line in after[start:end] if line.strip())
    first = next(number for start, end in spans for number in range(start, end) if after[number].strip())
    return Addition(origin.path, changed, first + 1, shown, kind, joins)


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


def _template(stanza: Family, values: Values) -> str | None:
    try:
        return _AXIS.sub(lambda match: stanza.spelling.get(values[match[1]], values[match[1]]), stanza.name)
    except KeyError:
        return None


def _entries(origin: Origin, added: Sequence[tuple[Values, int]]) -> tuple[list[Edit], str] | None:
    """Entries more in the stanza's row or table, and what kind they are; ``None`` where it has no room for them."""
    text, stanza = origin.text, origin.stanza
    lines: Location = (*origin.place, "row" if stanza.row is not None else "table", "lines")
    if stanza.row is not None:
        if any(stanza.row.axis not in values for values, _ in added):
            return None
        edit = put_keys(text, lines, {scalar(values[stanza.row.axis]): str(line) for values, line in added})
        return None if edit is None else ([edit], "row entry")
    table = stanza.table
    assert table is not None
    (axis, columns), *_ = table.columns.items()
    edits: list[Edit] = []
    rows: dict[str, list[str]] = {}
    for values, line in added:
        row, column = values.get(table.rows), values.get(axis)
        if row is None or column is None or column not in columns:
            return None
        position = columns.index(column)
        if row in table.lines:
            edits.append(fitted(text, places(text)[(*lines, row, position)], str(line)))
        else:
            rows.setdefault(row, ["~"] * len(columns))[position] = str(line)
    if not rows:
        return edits, "table cell"
    pattern = (*lines, list(table.lines)[-1])
    edit = put_keys(text, lines, {scalar(row): row_like(text, pattern, cells) for row, cells in rows.items()})
    return None if edit is None else ([*edits, edit], "table row")


def _tolerance(origin: Origin, added: Sequence[Values], bound: Bound | None) -> list[Edit] | None:
    """A rule for ``added``, over the axes of the rule that covers the kernel; without ``bound`` their values in that
    rule, next to the kernel's own. Empty where rules of the stanza cover all of them, ``None`` where some are."""
    stanza, like = origin.stanza, origin.like
    variants = [
        {**{axis: _filled(text, values) for axis, text in stanza.variant.items()}, **values} for values in added
    ]
    uncovered = [variant for variant in variants if not any(_selects(rule.when, variant) for rule in stanza.tolerance)]
    if len(uncovered) < len(variants):
        return None if uncovered else []
    number, own = next((at, rule) for at, rule in enumerate(stanza.tolerance) if _selects(rule.when, like.variant))
    values: dict[str, list[str]] = {
        axis: list(dict.fromkeys(variant.get(axis, "") for variant in uncovered)) for axis in own.when
    }
    place = (*origin.place, "tolerance")
    if bound is not None:
        edit = put_rule(origin.text, place, lambda column: bound.rule(values, column), bound.flow(values))
        return None if edit is None else [edit]
    edits = []
    for axis, wanted in own.when.items():
        new = [scalar(value) for value in values[axis] if value not in wanted]
        spot = places(origin.text)[(*place, number, "when", axis, wanted.index(like.variant[axis]))]
        edits += [Edit(spot.end, spot.end, f", {', '.join(new)}")] if new else []
    return edits


def _selects(when: Mapping[Axis, Sequence[str]], variant: Values) -> bool:
    return all(variant.get(axis) in wanted for axis, wanted in when.items())


def _filled(text: str, values: Values) -> str:
    return _AXIS.sub(lambda match: values.get(match[1], match[0]), text)


def _new_stanza(
    origin: Origin, lines: Mapping[str, int], fitting: Mapping[str, Values], bound: Bound | None
) -> Addition:
    """A stanza for the kernels of ``lines``, with the parameters and variant of the kernel written out."""
    like = origin.like
    axis, rows, template, odd = _one_axis(origin, list(lines))
    shown = [f"  - family: {like.family}"]
    if like.launch != like.family:
        shown.append(f"    launch: {like.launch}")
    if like.is_host_function:
        shown.append(f"    entry: {like.entry}")
        source = like.upstream.rpartition(":")[0]
        shown += [f"    source: {source}"] if origin.stanza.source is not None else []
    shown.append(f'    name: "{template}"')
    if odd:
        shown.append("    spelling: {" + ", ".join(f"{value}: {spelled}" for value, spelled in odd.items()) + "}")
    known = fitting.get(next(iter(lines)), {})
    variant = {key: text for key, text in {**like.variant, **known}.items() if key != axis}
    if variant:
        shown.append("    variant: {" + ", ".join(f"{key}: {scalar(text)}" for key, text in variant.items()) + "}")
    shown.append("    params:")
    for parameter in like.params:
        own = axis == "dtype" and parameter.dtype == like.variant.get("dtype")
        line = describe_parameter(parameter)
        shown.append("      " + (line.replace(f" {parameter.dtype}", " {dtype}") if own else line))
    entries = ", ".join(f"{scalar(value)}: {lines[name]}" for value, name in rows.items())
    shown += ["    row:", f"      axis: {axis}", f"      lines: {{{entries}}}"]
    shown += ["    tolerance:", (bound or like_bound(like.tolerance)).rule({}, 6)]
    begun = origin.text if origin.text.endswith("\n") else origin.text + "\n"
    return _addition(origin, f"{begun}\n" + "\n".join(shown) + "\n", "new stanza")


def _one_axis(origin: Origin, names: Sequence[str]) -> tuple[str, dict[str, str], str, dict[str, str]]:
    """The axis that tells the new kernels, its values with their names, the name template, and odd spellings: by their
    dtypes, else by the whole name. Raises ``SpecError`` where several names differ in more than the dtype."""
    split = [split_dtype(name) for name in names]
    dtypes = "dtype" in origin.like.variant and all(spelled for _, spelled in split)
    if len({root for root, _ in split} if dtypes else set(names)) > 1:
        raise SpecError(
            origin.path,
            None,
            f"no stanza can hold {', '.join(names)} in one edit: they differ in more than the dtype at their end",
            "add them one operation at a time",
        )
    if not dtypes:
        return "op", {names[0]: names[0]}, "{op}", {}
    values = {SPELLINGS[spelled]: name for (_, spelled), name in zip(split, names, strict=True)}
    odd = {SPELLINGS[spelled]: spelled for _, spelled in split if SPELLINGS[spelled] != spelled}
    return "dtype", values, f"{split[0][0]}_{{dtype}}", odd
