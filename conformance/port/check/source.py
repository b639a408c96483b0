"""The kernels and the linked launchers that a tree of sources defines, against the specs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from conformance.port.check.findings import CheckFinding
from conformance.port.check.near_names import intended_names, nearest, other_dtypes
from conformance.port.declared.names import Names
from conformance.port.definitions.scan import Definition, in_parallel, scan_source
from conformance.port.definitions.source_text import ScanError
from conformance.port.launchers import difference, host_functions, may_define, stem
from conformance.port.options import NO_OPTIONS, BuildOptions
from conformance.port.signature import differences, written
from conformance.port.sources import KernelSource
from conformance.spec.kernel import Kernel
from conformance.text import some


@dataclass(frozen=True)
class SourceTree:
    """What the sources of a tree define, in the order of the sources, and the errors of those that cannot be read."""

    definitions: Mapping[KernelSource, tuple[Definition, ...]]
    errors: Mapping[KernelSource, ScanError]

    def place(self, source: KernelSource, definition: Definition) -> str:
        """The lines of ``definition``: ``FILE:FIRST-LAST``, with the file relative to the folder above the tree's
        root."""
        file = definition.file.resolve()
        inside = file.is_relative_to(source.root)
        shown = f"{source.root.name}/{file.relative_to(source.root).as_posix()}" if inside else str(file)
        last = "" if definition.end_line == definition.line else f"-{definition.end_line}"
        return f"{shown}:{definition.line}{last}"


def under_candles_names(tree: SourceTree, names: Names) -> SourceTree:
    """``tree`` with each kernel under the names that Candle has for it.

    That can be several names, or none if the kernel's own name is Candle's for another kernel.
    """
    renamed = {
        source: tuple(
            replace(definition, name=candle) for definition in found for candle in names.candles(definition.name)
        )
        for source, found in tree.definitions.items()
    }
    return replace(tree, definitions=renamed)


def read_tree(sources: Sequence[KernelSource], options: BuildOptions = NO_OPTIONS, jobs: int = 2) -> SourceTree:
    """Find the kernels that ``sources`` define, with ``jobs`` preprocessors at a time. Nothing is compiled."""

    def one(source: KernelSource) -> list[Definition] | ScanError:
        try:
            return scan_source(source, options).kernels
        except ScanError as error:
            return error

    rows = dict(zip(sources, in_parallel(one, sources, jobs), strict=True))
    return SourceTree(
        {source: tuple(row) for source, row in rows.items() if not isinstance(row, ScanError)},
        {source: row for source, row in rows.items() if isinstance(row, ScanError)},
    )


def check_sources(tree: SourceTree, kernels: Mapping[str, Kernel], wanted: Sequence[Kernel]) -> list[CheckFinding]:
    """The findings of ``tree`` against ``kernels``, all of the specs. Only ``wanted`` kernels can be missing."""
    findings = []
    for source, error in tree.errors.items():
        place, problem = source.located(error)
        findings.append(CheckFinding("unreadable", "", problem, place))
    rows = [
        (definition, tree.place(source, definition))
        for source, found in tree.definitions.items()
        for definition in found
    ]
    # Neither a template nor a mangled symbol can be asked for by its name: they count only where nothing else has it.
    named = {definition.name for definition, _ in rows if definition.extern_c and not definition.template}
    reachable = [
        (definition, place)
        for definition, place in rows
        if not definition.template and (definition.extern_c or definition.name not in named)
    ]
    first: dict[str, tuple[Definition, str]] = {}
    for definition, place in reachable:
        name = definition.name
        if name not in first:
            first[name] = (definition, place)
        elif place != first[name][1]:
            findings.append(CheckFinding("duplicate", name, f"is defined at {first[name][1]} too", place))
    for name, (definition, place) in first.items():
        if name in kernels:
            findings += _of_kernel(kernels[name], definition, place)
    return [*findings, *_names(first, kernels, wanted)]


def _of_kernel(kernel: Kernel, definition: Definition, place: str) -> list[CheckFinding]:
    findings = []
    if not definition.extern_c:
        findings.append(CheckFinding("extern_c", kernel.name, 'extern "C" is missing: its symbol is mangled', place))
    findings += [
        CheckFinding(kind, kernel.name, message, place)
        for kind, message in differences(kernel, written(definition.params))
    ]
    return findings


def _names(
    first: Mapping[str, tuple[Definition, str]], kernels: Mapping[str, Kernel], wanted: Sequence[Kernel]
) -> list[CheckFinding]:
    findings = []
    missing = {kernel.name: kernel for kernel in wanted if kernel.name not in first}
    extra = [name for name in first if name not in kernels]
    intended = intended_names(extra, missing)
    for name in extra:
        definition, place = first[name]
        meant = intended.get(name)
        if meant is not None and not differences(kernels[meant], written(definition.params)):
            message = f"is not a name of the specs; it has the parameters of {meant}, which is missing"
            findings.append(CheckFinding("misnamed", name, message, place, meant))
            del missing[meant]
            continue
        if not definition.extern_c and meant is None:
            continue  # a building block that the port launches itself
        near = meant or nearest(name, kernels.keys())
        hint = "" if near is None else f"; near {near}, {'which is missing' if near in missing else 'which is defined'}"
        findings.append(CheckFinding("extra", name, f"is not a name of the specs{hint}", place, near))
    for name, kernel in missing.items():
        others = other_dtypes(kernel, first.keys(), kernels)
        if others:
            message = f"is not defined, though {some(others, 3)} {'is' if len(others) == 1 else 'are'}"
            findings.append(CheckFinding("missing_dtype", name, message))
        else:
            findings.append(CheckFinding("missing", name, "no source defines it"))
    return findings


def check_launchers(
    sources: Sequence[KernelSource], options: BuildOptions, launchers: Mapping[str, Kernel], names: Names
) -> tuple[frozenset[str], list[CheckFinding]]:
    """The names of the ``launchers`` that host functions of ``sources`` define, and the findings about them.

    A finding is: other parameters, a second definition, no C linkage, or a name like that of a launcher which no source
    defines.
    """
    places: dict[str, str] = {}
    findings: list[CheckFinding] = []
    strange: dict[str, str] = {}
    stems = {stem(name) for name in launchers}
    wanted = [names.port(name) for name in launchers]
    for source in sources:
        if not may_define(source, wanted, options):
            continue
        for definition in host_functions(source, options, extern_c=True).values():
            place = f"{source.label_of(str(definition.file))}:{definition.line}"
            name = names.candle(definition.name)
            if name is None or name not in launchers:
                if stem(definition.name) in stems:
                    strange[definition.name] = place
                continue
            if name in places and places[name] != place:
                findings.append(CheckFinding("duplicate", name, f"is defined at {places[name]} too", place))
            places.setdefault(name, place)
            message = difference(launchers[name], definition)
            if message is not None:
                findings.append(CheckFinding("parameter_type", name, message, place))
    missing = [name for name in launchers if name not in places]
    mangled: dict[str, str] = {}
    for source in sources:
        if missing and may_define(source, [names.port(name) for name in missing], options):
            for one in host_functions(source, options, extern_c=False).values():
                mangled.setdefault(one.name, f"{source.label_of(str(one.file))}:{one.line}")
    findings += [
        CheckFinding("extern_c", name, 'extern "C" is missing: its symbol is mangled', mangled[names.port(name)])
        for name in missing
        if names.port(name) in mangled
    ]
    for name, place in strange.items():
        near = nearest(name, missing)
        if near:
            findings.append(
                CheckFinding("misnamed", name, f"is not a launcher of the specs; {near} is missing", place, near)
            )
    return frozenset(places), findings
