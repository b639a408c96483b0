"""The linked launchers that a tree of sources defines, against the specs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.port.check.findings import Finding
from conformance.port.check.names import nearest
from conformance.port.declared.names import Names
from conformance.port.launchers import difference, known_launchers, mangled_in, may_define, stem
from conformance.port.options import BuildOptions
from conformance.port.sources import KernelSource
from conformance.spec.kernel import Kernel


def check_launchers(
    sources: Sequence[KernelSource], options: BuildOptions, launchers: Mapping[str, Kernel], names: Names
) -> tuple[frozenset[str], list[Finding]]:
    """Which of ``launchers`` host functions of ``sources`` define, and what is wrong with these: other parameters, a
    second definition, no C linkage, and a name that is near a launcher's which no source defines."""
    places: dict[str, str] = {}
    findings: list[Finding] = []
    strange: dict[str, str] = {}
    stems = {stem(name) for name in launchers}
    wanted = [names.port(name) for name in launchers]
    for source in sources:
        if not may_define(source, wanted, options):
            continue
        for definition in known_launchers(source, options).values():
            place = f"{source.label_of(str(definition.file))}:{definition.line}"
            name = names.candle(definition.name)
            if name is None or name not in launchers:
                if stem(definition.name) in stems:
                    strange[definition.name] = place
                continue
            if name in places and places[name] != place:
                findings.append(Finding("duplicate", name, f"is defined at {places[name]} too", place))
            places.setdefault(name, place)
            said = difference(launchers[name], definition)
            if said is not None:
                findings.append(Finding("parameter_type", name, said, place))
    missing = [name for name in launchers if name not in places]
    mangled: dict[str, str] = {}
    for source in sources:
        if missing and may_define(source, [names.port(name) for name in missing], options):
            for one in mangled_in(source, options).values():
                mangled.setdefault(one.name, f"{source.label_of(str(one.file))}:{one.line}")
    findings += [
        Finding("extern_c", name, 'extern "C" is missing: its symbol is mangled', mangled[names.port(name)])
        for name in missing
        if names.port(name) in mangled
    ]
    for name, place in strange.items():
        near = nearest(name, missing)
        if near:
            findings.append(
                Finding("misnamed", name, f"is not a launcher of the specs; {near} is missing", place, near)
            )
    return frozenset(places), findings
