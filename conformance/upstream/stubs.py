"""YAML for kernels that no spec has, ready to paste: everything the source tells, and a mark where a person decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conformance.dtypes import SPELLINGS
from conformance.port.definitions.parameters import c_type
from conformance.port.definitions.scan import Definition
from conformance.spec.load import Specs
from conformance.upstream.new_kernels import split_dtype


@dataclass(frozen=True)
class Stub:
    """A stanza for ``module``, and whether that has a spec file already."""

    module: str
    known: bool
    text: str


def stubs(definitions: Iterable[Definition], specs: Specs) -> list[Stub]:
    """A stanza for each group of new kernels that only differ in the dtype at the end of the name."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[tuple[str, Definition]]] = {}
    for definition in definitions:
        root, spelled = split_dtype(definition.name)
        shape = tuple(_parameters(definition, SPELLINGS.get(spelled)))
        groups.setdefault((definition.file.name, root, shape), []).append((spelled, definition))
    by_source = {module.source: module.name for module in specs.modules.values()}
    return [
        Stub(by_source.get(source, source.removesuffix(".cu")), source in by_source, _stanza(root, shape, members))
        for (source, root, shape), members in groups.items()
    ]


def file_head(module: str, source: str, lines: int) -> str:
    """The first lines of a spec file for a module that has none."""
    return (
        "# yaml-language-server: $schema=schema.json\n"
        f"module: {module}\ntitle: TODO\nsource: {source}\nsource_lines: {lines}\n\nfamilies:"
    )


def _parameters(definition: Definition, dtype: str | None) -> Iterable[str]:
    """``name: role type`` of each parameter, with ``{dtype}`` for the kernel's own."""
    for index, param in enumerate(definition.params):
        type_ = c_type(param.type)
        kinds = type_.dtypes - {"i32"} if "int" in type_.dtypes and dtype != "i32" else type_.dtypes
        kind = "{dtype}" if dtype in kinds else next(iter(sorted(kinds)), "")
        name = param.name or f"unnamed{index}"
        if type_.pointers == 0:
            yield f"{name}: scalar {kind or 'TODO'}" + ("" if kind else f" # {param.type}")
        else:
            role = "in" if param.type.startswith("const ") else "out"
            known = "void*" if kind in ("", "void*") or type_.pointers > 1 else f"{kind}*"
            yield f"{name}: {role} {known}" + ("" if kind else f" # {param.type}")


def _stanza(root: str, shape: Sequence[str], members: Sequence[tuple[str, Definition]]) -> str:
    lines = [f"  - family: {root}"]
    if members[0][0]:
        rows = {SPELLINGS[spelled]: definition.line for spelled, definition in members}
        odd = {SPELLINGS[spelled]: spelled for spelled, _ in members if SPELLINGS[spelled] != spelled}
        lines.append(f'    name: "{root}_{{dtype}}"')
        if odd:
            lines.append(f"    spelling: {_flow(odd)}")
        axis = "dtype"
    else:
        rows = {definition.name: definition.line for _, definition in members}
        lines.append('    name: "{op}"')
        lines.append("    variant: {dtype: f32} # TODO: the type of the result")
        axis = "op"
    lines.append("    params: # TODO: inout where the kernel also reads what it writes")
    lines += [f"      {parameter}" for parameter in shape]
    lines += ["    row:", f"      axis: {axis}", f"      lines: {_flow(rows)}"]
    lines += ["    tolerance:", "      - {ulp: 0, library_ulp: 0, source: TODO}"]
    return "\n".join(lines)


def _flow(values: dict[str, int] | dict[str, str]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in values.items()) + "}"
