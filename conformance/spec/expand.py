"""Expands a spec file's stanzas into kernels and checks what a model of one file's shape cannot see.

A stanza of ``specs/unary.yaml`` says once what its kernels have in common, and a table has a cell for each of them.
Each cell becomes a ``Kernel``: its name is the stanza's template filled in, its variant is what was filled in.

    >>> from conformance.spec.load import load_specs
    >>> kernel = load_specs().kernels["uexp_f32"]
    >>> kernel.family, dict(kernel.variant), kernel.upstream
    ('unary', {'op': 'exp', 'dtype': 'f32'}, 'unary.cu:192')
    >>> [parameter.name for parameter in kernel.params]
    ['numel', 'num_dims', 'info', 'inp', 'out']
    >>> kernel.tolerance.ulp, kernel.tolerance.library_ulp
    (0, 2)

An error names the file and the line of the stanza.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar, cast

from conformance.dtypes import DTYPES, NEW_DTYPE
from conformance.spec.entry import ROWS, Entry
from conformance.spec.kernel import Fix, Kernel, Parameter, Role, Tolerance, Undefined
from conformance.spec.model import (
    Family,
    KernelTable,
    OwnFamily,
    OwnSpecFile,
    Remark,
    SpecFile,
    ToleranceRule,
    UndefinedInput,
    UpstreamDefect,
    Workload,
)
from conformance.spec.nodes import Document, Location
from conformance.text import did_you_mean

_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_PARAMETER = re.compile(r"^(scalar|inout|in|out|scratch|stream|device) (void\*|[\w{}]+)(\*?)$")
_C_NAME = re.compile(r"^[A-Za-z_]\w*$")
_OF_LAUNCHERS = ("scratch", "stream", "device")
_DTYPE_AXES = ("dtype", "src_dtype", "dst_dtype", "idx_dtype")

Selecting = TypeVar("Selecting", ToleranceRule, Remark, UndefinedInput, UpstreamDefect, Workload)


def expand(document: Document, spec: SpecFile | OwnSpecFile, source: str = "") -> Iterator[tuple[Kernel, Location]]:
    """Every kernel of the file with the location of its upstream line; raises ``SpecError``.

    A port's own kernels have no such line: ``source`` is what to call their spec, and the line is one of that.
    """
    source = spec.source if isinstance(spec, SpecFile) else source
    stanzas: Sequence[Family | OwnFamily] = spec.families
    for index, stanza in enumerate(stanzas):
        yield from _Stanza(document, spec.module, source, stanza, ("families", index)).kernels()


class _Stanza:
    """One family stanza on its way to kernels; ``place`` is its location in the file."""

    def __init__(
        self, document: Document, module: str, source: str, stanza: Family | OwnFamily, place: Location
    ) -> None:
        self.document = document
        self.module = module
        self.source = source
        self.stanza = stanza
        self.of_candle = stanza if isinstance(stanza, Family) else None
        self.place = place
        self.entry: Entry = stanza.own_entry if isinstance(stanza, OwnFamily) else stanza.entry
        self.wired_at = self.of_candle.wired_at if self.of_candle else []
        self.defects = self.of_candle.upstream_defects if self.of_candle else []
        self.cells = list(self._cells())
        self.values = self._axis_values()
        self._check_selectors()
        self._check_spelling()
        self._check_moved()

    def _cells(self) -> Iterator[tuple[dict[str, str], int, Location]]:
        """For each kernel the values of its axes, its upstream line, and where the spec says so."""
        stanza, document = self.stanza, self.document
        if isinstance(stanza, OwnFamily):
            yield from self._combinations(stanza)
            return
        if (stanza.row is None) == (stanza.table is None):
            raise document.error(self.place, "a stanza needs either row or table", "give exactly one of the two")
        if stanza.row is not None:
            for value, line in stanza.row.lines.items():
                yield {stanza.row.axis: value}, line, (*self.place, "row", "lines", value)
        if stanza.table is not None:
            yield from self._table_cells(stanza.table)

    def _combinations(self, stanza: OwnFamily) -> Iterator[tuple[dict[str, str], int, Location]]:
        """For each combination of the values of an own stanza's axes, the line of the last of them."""
        for axis, values in stanza.axes.items():
            for index, value in enumerate(values):
                if value in values[:index]:
                    place = (*self.place, "axes", axis, index)
                    raise self.document.error(place, f"{axis} {value!r} is given twice", "name each value once")
        axes = [[(axis, index, value) for index, value in enumerate(each)] for axis, each in stanza.axes.items()]
        for cell in itertools.product(*axes):
            place = (*self.place, "axes", *cell[-1][:2]) if cell else (*self.place, "name")
            yield {axis: value for axis, _, value in cell}, self.document.line(place), place

    def _table_cells(self, table: KernelTable) -> Iterator[tuple[dict[str, str], int, Location]]:
        place = (*self.place, "table")
        (axis, columns), *_ = table.columns.items()
        for index, column in enumerate(columns):
            self._check_dtype(axis, column, (*place, "columns", axis, index))
            if column in columns[:index]:
                raise self.document.error(
                    (*place, "columns", axis, index), f"{axis} {column!r} is claimed twice", "name each column once"
                )
        if axis == table.rows:
            raise self.document.error((*place, "rows"), f"rows and columns are both {axis!r}", "use two axes")
        for row, lines in table.lines.items():
            here = (*place, "lines", row)
            if len(lines) != len(columns):
                raise self.document.error(
                    here,
                    f"row {row!r} has {len(lines)} entries for {len(columns)} columns",
                    "give one line number per column, ~ where there is no such kernel",
                )
            for index, line in enumerate(lines):
                if line is not None:
                    yield {table.rows: row, axis: columns[index]}, line, (*here, index)

    def _axis_values(self) -> dict[str, list[str]]:
        """The values of every axis of the stanza; complains of an unknown dtype and of an axis given twice."""
        values: dict[str, list[str]] = {}
        for cell, _, place in self.cells:
            for axis, value in cell.items():
                self._check_dtype(axis, value, place)
                if value not in values.setdefault(axis, []):
                    values[axis].append(value)
        for axis, text in self.stanza.variant.items():
            place = (*self.place, "variant", axis)
            if axis in values:
                raise self.document.error(place, f"axis {axis!r} has values already", "remove it from variant")
            referred = _PLACEHOLDER.fullmatch(text)
            if referred is not None and referred[1] not in values:
                raise self._unknown(place, referred[1], values)
            if referred is None:
                self._check_dtype(axis, text, place)
        return values

    def _check_dtype(self, axis: str, value: str, place: Location) -> None:
        if axis in _DTYPE_AXES and value not in DTYPES:
            raise self.document.error(place, f"unknown dtype {value!r}", _known_dtypes(value))

    def _check_spelling(self) -> None:
        known = {value for values in self.values.values() for value in values}
        for value in self.stanza.spelling:
            if value not in known:
                raise self.document.error(
                    (*self.place, "spelling", value),
                    f"a spelling for {value!r}, which no kernel of the stanza has",
                    f"remove it, or use one of {', '.join(sorted(known))}",
                )

    def _check_moved(self) -> None:
        for index, name in enumerate(self.stanza.moved):
            if name not in self.stanza.params or ROWS[self.entry].is_host_function:
                raise self.document.error(
                    (*self.place, "moved", index),
                    f"{name!r} is no parameter of a kernel",
                    f"expected one of {', '.join(self.stanza.params)}, in a stanza of kernels",
                )

    def _check_selectors(self) -> None:
        """Every value that a ``when`` names must occur: a rule that selects nothing is a mistake."""
        stanza = self.stanza
        groups: dict[str, Sequence[ToleranceRule | Remark | UndefinedInput | Workload]] = {
            "tolerance": stanza.tolerance,
            "bench": stanza.bench,
            "notes": stanza.notes,
            "wired_at": self.wired_at,
            "upstream_defects": self.defects,
            "undefined": stanza.undefined,
            "known_failures": stanza.known_failures,
        }
        for group, rules in groups.items():
            for index, rule in enumerate(rules):
                for axis, wanted in rule.when.items():
                    place = (*self.place, group, index, "when", axis)
                    present = self.values.get(axis, [])
                    for value in wanted:
                        if value not in present:
                            raise self.document.error(
                                place,
                                f"no kernel of the stanza has {axis} {value!r}",
                                f"expected {axis} to be one of {', '.join(present) or '(it has no such axis)'}",
                            )

    def kernels(self) -> Iterator[tuple[Kernel, Location]]:
        stanza, document = self.stanza, self.document
        for cell, line, place in self.cells:
            variant = dict(cell)
            for axis, text in stanza.variant.items():
                variant[axis] = self._fill(text, cell, (*self.place, "variant", axis))
            spelled = {axis: stanza.spelling.get(value, value) for axis, value in variant.items()}
            name = self._fill(stanza.name, spelled, (*self.place, "name"))
            if not _C_NAME.match(name):
                raise document.error((*self.place, "name"), f"{name!r} is not a C name", "correct the name template")
            source = self.source
            if self.of_candle is not None:
                source = self._fill(self.of_candle.source or source, spelled, (*self.place, "source"))
            known = self._matching(stanza.known_failures, variant)
            defects = self._matching(self.defects, variant)
            kernel = Kernel(
                name=name,
                module=self.module,
                family=stanza.family,
                variant=variant,
                params=tuple(self._parameters(variant)),
                launch=stanza.launch or stanza.family,
                tolerance=self._tolerance(name, variant),
                upstream=f"{source}:{line}",
                bench=self._bench(variant),
                known_failure=" ".join(item.text for item in known) or None,
                notes=tuple(item.text for item in self._matching(stanza.notes, variant)),
                upstream_defects=tuple(item.text for item in defects),
                fix=self._fix(defects),
                wrong_upstream=tuple(pattern for item in defects for pattern in item.cases),
                entry=self.entry,
                wired_at=tuple(item.text for item in self._matching(self.wired_at, variant)),
                undefined=tuple(
                    Undefined(item.input, item.reason) for item in self._matching(stanza.undefined, variant)
                ),
            )
            yield kernel, place

    def _parameters(self, variant: Mapping[str, str]) -> Iterator[Parameter]:
        for name, text in self.stanza.params.items():
            place = (*self.place, "params", name)
            match = _PARAMETER.match(text)
            if match is None:
                raise self.document.error(
                    place,
                    f"parameter {name!r} is {text!r}",
                    'expected "scalar TYPE", "in TYPE*", "out TYPE*" or "inout TYPE*"',
                )
            role, written, star = match.groups()
            dtype = self._fill(written, variant, place)
            if dtype not in DTYPES:
                raise self.document.error(
                    place, f"parameter {name!r} has the unknown dtype {dtype!r}", _known_dtypes(dtype)
                )
            # "void*" is both the pointee's spelling and the pointer.
            pointer = bool(star) or dtype == "void*"
            if role in _OF_LAUNCHERS and not ROWS[self.entry].is_host_function:
                raise self.document.error(
                    place, f"parameter {name!r} is {text!r}", f"{role} is for launchers (entry: launcher)"
                )
            if role != "stream" and pointer == (role in ("scalar", "device")):
                raise self.document.error(
                    place, f"parameter {name!r} is {text!r}", "a scalar has no *, and in, out and inout need one"
                )
            yield Parameter(name, dtype, pointer, cast(Role, role), name in self.stanza.moved)

    def _tolerance(self, name: str, variant: Mapping[str, str]) -> Tolerance:
        rules = self._matching(self.stanza.tolerance, variant)
        if len(rules) != 1:
            place = (*self.place, "tolerance")
            if rules:
                place = (*place, self.stanza.tolerance.index(rules[1]))
            what = "no rule" if not rules else f"{len(rules)} rules"
            raise self.document.error(
                place, f"{what} of tolerance for kernel {name!r}", "exactly one rule must select each kernel"
            )
        (rule,) = rules
        place = (*self.place, "tolerance", self.stanza.tolerance.index(rule))
        return Tolerance(
            self._steps(rule.ulp, variant, (*place, "ulp")),
            self._steps(rule.library_ulp, variant, (*place, "library_ulp")),
            rule.source,
        )

    def _fix(self, defects: Sequence[UpstreamDefect]) -> Fix | None:
        found = [item for item in defects if item.fix is not None]
        if len(found) > 1:
            place = (*self.place, "upstream_defects", self.defects.index(found[1]), "fix")
            raise self.document.error(place, "a second fix of one kernel", "a kernel has one at most; leave one out")
        return Fix(str(found[0].fix), found[0].text) if found else None

    def _bench(self, variant: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        rules = self._matching(self.stanza.bench, variant)
        return {size: tuple(row for rule in rules for row in getattr(rule, size)) for size in ("large", "small")}

    def _steps(self, value: int | Mapping[str, int], variant: Mapping[str, str], place: Location) -> int:
        if isinstance(value, int):
            return value
        dtype = variant.get("dtype", "")
        if dtype not in value:
            raise self.document.error(place, f"no value for dtype {dtype!r}", "add one for each dtype of the stanza")
        for given in value:
            self._check_dtype("dtype", given, (*place, given))
        return value[dtype]

    def _matching(self, rules: Sequence[Selecting], variant: Mapping[str, str]) -> list[Selecting]:
        return [rule for rule in rules if all(variant.get(axis) in wanted for axis, wanted in rule.when.items())]

    def _fill(self, template: str, values: Mapping[str, str], place: Location) -> str:
        """``template`` with ``{axis}`` replaced; raises ``SpecError`` for an axis that the stanza does not have."""
        for axis in _PLACEHOLDER.findall(template):
            if axis not in values:
                raise self._unknown(place, axis, values)
        return _PLACEHOLDER.sub(lambda match: values[match[1]], template)

    def _unknown(self, place: Location, axis: str, values: Mapping[str, object]) -> Exception:
        return self.document.error(
            place,
            f"placeholder {{{axis}}} has no value",
            f"this stanza's axes are {', '.join(values)}; use one of them, or add {axis!r} to the stanza",
        )


def _known_dtypes(word: str) -> str:
    """What a spec may have in the place of ``word``."""
    return f"expected one of {', '.join(DTYPES)}{did_you_mean(word, DTYPES)}; {NEW_DTYPE}"
