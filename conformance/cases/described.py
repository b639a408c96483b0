"""Launch families that a port describes in YAML: parameters by role, geometry as expressions over the case.

A family of launchers, host functions that choose their geometry themselves, has no geometry, and a stream.

Fields of a case are ``shape``, ``values`` and ``layout`` of the inputs, ``NAME`` and ``NAME_start`` of one input whose
strides an info parameter has (its layout, and its first element), the family's ``numbers``, and its scalars by name.
Expressions (``conformance.cases.geometry``) know the names of ``dims``, ``numel``, ``rank``, the ``numbers``, and in
``shared`` the sizes of the block, ``block_x``, ``block_y`` and ``block_z``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conformance.cases.arguments import (
    Family,
    Fields,
    Row,
    call,
    drawn,
    in_order,
    in_place,
    info,
    operand,
    poisoned,
)
from conformance.cases.case import Case
from conformance.cases.geometry import parsed as expression
from conformance.cases.launch import PASSED_BY_VALUE, Argument, Launch, Scalar, Stream
from conformance.cases.layouts import MAX_ELEMENTS, Layout, layout
from conformance.cases.rows import parsed
from conformance.cases.values import RandomStream, scalar
from conformance.dtypes import dtype
from conformance.spec import SpecError
from conformance.spec.kernel import Kernel, Own
from conformance.text import did_you_mean

if TYPE_CHECKING:
    from conformance.spec.model import FamilyFile, FamilyParameter

_ROLES = {"size": ("scalar",), "scalar": ("scalar",), "output": ("out", "inout"), "inout": ("inout",)}
_ROLES |= {"scratch": ("scratch",), "stream": ("stream",)}
"""What the spec may call a parameter of a role; those that are not here are ``in``."""

_NEEDED = {"size": "value", "scalar": "values", "info": "of", "indices": "below"}
_ALLOWED = {"size": ("value",), "scalar": ("values",), "info": ("of",), "indices": ("below", "shape"), "stream": ()}
_OF_LAUNCHERS = ("scratch", "stream")
_MOST_THREADS = 1024


def families_in(folder: str) -> list[str]:
    """The names of the launch families that are described in ``folder``."""
    return sorted(path.stem for path in Path(folder).glob("*.yaml")) if folder else []


def described(folder: str, name: str, digest: str) -> Family:
    """The launch family ``name`` of the port's ``folder``, whose files have the ``digest``; raises ``SpecError``."""
    family = _read(folder, name, digest)
    return Family(lambda kernel: _rows(family), partial(_build, family))


def operands_of_info(kernel: Kernel) -> tuple[str, ...]:
    """The operands whose strides follow the dims in the info argument of an own kernel; none where it has no such
    argument, or its family is one of ours."""
    return () if kernel.own is None else _laid_out(kernel.own.families, kernel.launch, kernel.own.digest)


@lru_cache(maxsize=64)
def _laid_out(folder: str, name: str, digest: str) -> tuple[str, ...]:
    return tuple(_read(folder, name, digest).laid_out) if name in families_in(folder) else ()


def error_at(kernel: Kernel, problem: str, remedy: str) -> SpecError:
    """A ``SpecError`` at the line of an own kernel."""
    assert kernel.own is not None
    return SpecError(kernel.own.spec, int(kernel.upstream.rpartition(":")[2]), problem, remedy)


def check_parameters(kernel: Kernel, own: Own) -> None:
    """Raises ``SpecError``, at the line of ``kernel``, where its parameters are not those of its family, and at that of
    the family for a case that cannot be built."""
    family = _read(own.families, kernel.launch, own.digest)
    _check_kind(kernel, family)
    known = [one.name for one in kernel.params]
    for parameter in kernel.params:
        row = family.content.params.get(parameter.name)
        if row is None:
            names = ", ".join(family.content.params)
            near = did_you_mean(parameter.name, family.content.params)
            problem = f"launch family {kernel.launch!r} has no parameter {parameter.name!r} of kernel {kernel.name}"
            raise error_at(kernel, problem, f"it has {names}{near}")
        roles = _ROLES.get(row.role, ("in",))
        if parameter.role not in roles:
            problem = f"parameter {parameter.name!r} of kernel {kernel.name} is {parameter.role}"
            remedy = f"its role in launch family {kernel.launch!r} is {row.role}, so expected {' or '.join(roles)}"
            raise error_at(kernel, problem, remedy)
    missing = [name for name in family.content.params if name not in known]
    if missing:
        problem = f"kernel {kernel.name} lacks {', '.join(missing)}, which launch family {kernel.launch!r} has"
        raise error_at(kernel, problem, "add it to params of the spec, or take it out of the family")
    for index, text in enumerate(family.content.cases):
        try:
            _build(family, kernel, Case(kernel.name, parsed([text])[0]), RandomStream(0))
        except ValueError as error:
            why = str(error).removeprefix(f"case {kernel.name}({text}): ")
            raise family.error(("cases", index), f"case {text}: {why}", "correct the case or the family") from None


def _check_kind(kernel: Kernel, family: _Described) -> None:
    """Raises ``SpecError`` for a kernel of a family without geometry, and for a launcher that is not called as its
    family says."""
    where = f"launch family {kernel.launch!r} of {kernel.name}"
    if not kernel.is_host_function:
        if family.content.grid is None:
            remedy = "add them, or `entry: launcher` to the stanza of a host function"
            raise error_at(kernel, f"{where} has no grid and block, which kernels need", remedy)
        return
    if family.content.grid is not None:
        remedy = "take them out: a launcher chooses them itself"
        raise family.error(("grid",), f"{where}, a launcher, has a grid and a block", remedy)
    for parameter in kernel.params:
        if not parameter.pointer and parameter.role != "stream" and parameter.dtype not in PASSED_BY_VALUE:
            problem = f"parameter {parameter.name!r} of launcher {kernel.name} is {parameter.dtype} by value"
            raise error_at(kernel, problem, f"expected one of {', '.join(PASSED_BY_VALUE)}, or a pointer")


@dataclass(frozen=True)
class _Described:
    """A family's file, with the lines of its values."""

    content: FamilyFile
    path: Path
    lines: Mapping[tuple[str | int, ...], int]

    def error(self, place: tuple[str | int, ...], problem: str, remedy: str) -> SpecError:
        return SpecError(self.path, self.lines.get(place, 1), problem, remedy)

    @property
    def laid_out(self) -> list[str]:
        """The inputs that may have any layout, for the kernels are told their strides."""
        return [name for row in self.content.params.values() if row.of for name in row.of]


@lru_cache(maxsize=64)
def _read(folder: str, name: str, digest: str) -> _Described:
    """The file of a family, read again where the ``digest`` of what describes own kernels is another one."""
    # Here, for a run without such families does without YAML and pydantic's models.
    from pydantic import ValidationError

    from conformance.spec.explain import explain
    from conformance.spec.model import FamilyFile
    from conformance.spec.nodes import read_document

    path = Path(folder) / f"{name}.yaml"
    document = read_document(path)
    try:
        content = FamilyFile.model_validate(document.data)
    except ValidationError as cause:
        raise explain(document, cause, FamilyFile) from None
    family = _Described(content, path, document.lines)
    if content.family != path.stem:
        raise family.error(("family",), f"family {content.family!r} in {path.name}", f"call it {path.stem!r}")
    for parameter, row in content.params.items():
        _check_row(family, parameter, row)
    _check_geometry(family)
    _check_expression(family, ("shared",), content.shared, ("block_x", "block_y", "block_z"))
    return family


def _check_geometry(family: _Described) -> None:
    """Raises ``SpecError`` for half a geometry, for both a geometry and what only launchers get, and for neither a
    geometry nor the stream that launchers get."""
    content = family.content
    given = [what for what in ("grid", "block") if getattr(content, what) is not None]
    if len(given) == 1:
        lacking = "block" if given == ["grid"] else "grid"
        expected = str(type(content).model_fields[lacking].description).partition(";")[0]
        remedy = f"add it: {expected}, or take {given[0]} out for launchers"
        raise family.error((), f"key {lacking!r} is missing", remedy)
    for name, row in content.params.items():
        if given and row.role in _OF_LAUNCHERS:
            problem = f"parameter {name!r} of role {row.role} in a family with grid and block"
            raise family.error(("params", name), problem, f"{row.role} is for launchers, whose families have neither")
    streams = [name for name, row in content.params.items() if row.role == "stream"]
    if not given and len(streams) != 1:
        problem = f"a family without grid and block has {len(streams)} parameters of role stream"
        remedy = "add grid and block for kernels, or for launchers the one stream that they put their work on"
        raise family.error((), problem, remedy)
    for what in given:
        for index, text in enumerate(getattr(content, what)):
            _check_expression(family, (what, index), text)


def _check_row(family: _Described, name: str, row: FamilyParameter) -> None:
    place: tuple[str | int, ...] = ("params", name)
    allowed = _ALLOWED.get(row.role, ("shape",))
    for key in ("value", "values", "of", "below", "shape"):
        if getattr(row, key) is not None and key not in allowed:
            remedy = f"expected {' and '.join(allowed) or 'no key but role'}"
            raise family.error((*place, key), f"parameter {name!r} of role {row.role} has the key {key}", remedy)
    needed = _NEEDED.get(row.role)
    if needed is not None and getattr(row, needed) is None:
        raise family.error(place, f"parameter {name!r} of role {row.role} has no {needed}", f"add {needed}: ...")
    inputs = [other for other, each in family.content.params.items() if each.role == "input"]
    for index, other in enumerate(row.of or ()):
        if other not in inputs:
            remedy = f"expected inputs of the family: {', '.join(inputs)}{did_you_mean(other, inputs)}"
            raise family.error((*place, "of", index), f"{other!r} is no input", remedy)
        if family.content.params[other].shape is not None:
            remedy = "leave its shape out: info has the dims of the case's shape"
            raise family.error((*place, "of", index), f"input {other!r} has a shape of its own", remedy)
    for key in ("value", "below"):
        if getattr(row, key) is not None:
            _check_expression(family, (*place, key), getattr(row, key))
    for index, text in enumerate(row.shape or ()):
        _check_expression(family, (*place, "shape", index), text)


def _check_expression(
    family: _Described, place: tuple[str | int, ...], text: str | int, more: tuple[str, ...] = ()
) -> None:
    """Raises ``SpecError`` for what is no expression, or has a name that no case gives."""
    names = [*family.content.dims, *family.content.numbers, "numel", "rank", *more]
    try:
        expression(str(text))(dict.fromkeys(names, 1))
    except ValueError as error:
        word = str(error).split("'")[1] if " is not known" in str(error) else ""
        remedy = f"expected integers, + - * //, ceildiv(a, b), min, max and the names {', '.join(names)}"
        raise family.error(place, f"{text!r}: {error}", f"{remedy}{did_you_mean(word, names)}") from None


def _rows(family: _Described) -> tuple[Row, ...]:
    """The cases, and the first of them again with each further value of each scalar."""
    rows = list(family.content.cases)
    for name, row in family.content.params.items():
        rows += [f"{rows[0]},{name}={value}" for value in (row.values or ())[1:]]
    return parsed(rows)


def _build(family: _Described, kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """The launch of ``case``; raises ``ValueError``, naming the case, for one that the family cannot make."""
    content = family.content
    laid_out = family.laid_out
    scalars = [name for name, row in content.params.items() if row.role == "scalar"]
    known = ["shape", "values", *content.numbers, *scalars]
    known += ["layout", "info", *laid_out, *(f"{name}_start" for name in laid_out)] if laid_out else []
    fields = Fields(case, known)
    shape = fields.shape(len(content.dims) or None)
    names = {"numel": math.prod(shape), "rank": len(shape), **dict(zip(content.dims, shape, strict=False))}
    names |= {name: fields.number(name, usual) for name, usual in content.numbers.items()}
    default = fields.text("layout", "contiguous") if laid_out else "contiguous"
    placed = {name: fields.layout(name, shape, f"{name}_start", default) for name in laid_out}
    given: list[Argument] = []
    for name, row in content.params.items():
        given.append(_argument(fields, kernel, name, row, names, shape, placed, stream))
    if content.grid is None or content.block is None:
        return call(kernel, given)
    grid, block = _three(content.grid, names), _three(content.block, names)
    if math.prod(block) > _MOST_THREADS or min(*grid, *block) < 1:
        raise ValueError(
            f"case {case.id}: grid {grid} and block {block}; a block must have 1 to {_MOST_THREADS} threads"
        )
    sizes = {f"block_{axis}": size for axis, size in zip("xyz", block, strict=True)}
    shared = expression(str(content.shared))({**names, **sizes})
    return Launch(kernel.name, grid, block, shared, in_order(kernel, given))


def _argument(
    fields: Fields,
    kernel: Kernel,
    name: str,
    row: FamilyParameter,
    names: Mapping[str, int],
    shape: tuple[int, ...],
    placed: Mapping[str, Layout],
    stream: RandomStream,
) -> Argument:
    kind = kernel.param(name).dtype
    if row.role == "stream":
        return Stream(name)
    if row.role == "size":
        return Scalar(name, kind, dtype(kind).numpy.type(expression(str(row.value))(names)))
    if row.role == "scalar":
        text = fields.text(name, str((row.values or ("0",))[0]))
        return Scalar(name, kind, fields.located(lambda: scalar(kind, text)))
    if row.role == "info":
        return info(fields, name, [placed[other] for other in row.of or ()])
    sizes = shape if row.shape is None else tuple(expression(str(one))(names) for one in row.shape)
    if math.prod(sizes) > MAX_ELEMENTS or any(size < 0 for size in sizes):
        raise ValueError(
            f"case {fields.case.id}: {name} would have the shape {list(sizes)}; expected sizes of 0 or "
            f"more and at most {MAX_ELEMENTS} elements"
        )
    if row.role in ("output", "scratch"):
        return poisoned(fields, kernel, name, math.prod(sizes))
    if row.role == "inout":
        return in_place(fields, kernel, name, drawn(fields, kernel, name, layout("contiguous", sizes), stream).data)
    where = placed.get(name) or layout("contiguous", sizes)
    if row.role == "input":
        return drawn(fields, kernel, name, where, stream)
    bound = expression(str(row.below))(names)
    if bound < 1:
        raise ValueError(
            f"case {fields.case.id}: the indices {name} must be below {bound}, which no index is; "
            "expected a bound of 1 or more"
        )
    ids = (stream.take(where.length) % np.uint64(bound)).astype(dtype(kind).numpy)
    return operand(kernel, name, where, ids)


def _three(texts: Iterable[str | int], names: Mapping[str, int]) -> tuple[int, int, int]:
    x, y, z = [*(expression(str(text))(names) for text in texts), 1, 1][:3]
    return x, y, z
