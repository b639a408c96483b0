"""The result of a static check, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from tabulate import tabulate

from conformance.port.check.findings import ERROR_KINDS, WARNING_KINDS, CheckFinding
from conformance.port.check.near_names import suggested_aliases
from conformance.port.check.objects import ObjectFile
from conformance.port.check.source import SourceTree
from conformance.port.declared.names import OWN_NAMES, Names
from conformance.spec.kernel import Kernel
from conformance.text import counted, one_line

_SHOWN = 40
"""Findings of a kind written out on a terminal; the JSON has all."""

OTHER_PARAMETERS = ("parameter_count", "parameter_order", "parameter_type", "pointee_type", "arguments")


@dataclass(frozen=True)
class CheckReport:
    """The result of a check: what was looked at, and the findings.

    ``kernels`` is the path as given. Sources and objects are under Candle's ``names``.
    """

    kernels: str
    tree: SourceTree
    objects: Sequence[ObjectFile]
    findings: Sequence[CheckFinding]
    specs: Mapping[str, Kernel]
    names: Names = OWN_NAMES
    own: Mapping[str, Kernel] = field(default_factory=dict)
    """The port's own kernels."""
    own_launchers: Mapping[str, Kernel] = field(default_factory=dict)
    """The port's own launchers, of which a finding may say that none of its sources defines them."""
    adapted: frozenset[str] = frozenset()
    """The kernels whose parameters the port declares (``[[adapter]]``): they are not compared with Candle's."""

    @property
    def errors(self) -> list[CheckFinding]:
        """The findings that make the exit code 1."""
        return [finding for finding in self.findings if not finding.is_warning]

    @property
    def warnings(self) -> list[CheckFinding]:
        """The findings that do not."""
        return [finding for finding in self.findings if finding.is_warning]


def report_json(report: CheckReport) -> dict[str, object]:
    """The content of ``check --json``, schema 1: every definition, every kernel of each code object, every finding."""
    tree = report.tree
    return {
        "schema": 1,
        "kernels": report.kernels,
        "summary": {
            "specs": len(report.specs),
            "defined": len(_defined(report) & report.specs.keys()),
            "with_parameters": len(_with_parameters(report)),
            **{kind: count for kind, count in Counter(finding.kind for finding in report.findings).items()},
        },
        "definitions": [
            {
                "name": definition.name,
                "source": tree.place(source, definition),
                "line": definition.line,
                "end_line": definition.end_line,
                "extern_c": definition.extern_c,
                "params": [{"type": param.type, "name": param.name} for param in definition.params],
            }
            for source, definitions in tree.definitions.items()
            for definition in definitions
        ],
        "objects": [
            {
                "file": file.label,
                "target": file.code.target,
                "kernels": [asdict(kernel) for kernel in file.code.kernels.values()],
            }
            for file in report.objects
        ],
        "names": report.names.ports,
        "findings": [
            {**asdict(finding), "severity": "warning" if finding.is_warning else "error"} for finding in report.findings
        ],
    }


def _defined(report: CheckReport) -> set[str]:
    names = {definition.name for found in report.tree.definitions.values() for definition in found}
    return names | {name for file in report.objects for name in file.code.kernels}


def _with_parameters(report: CheckReport) -> set[str]:
    """The kernels of the specs that are defined, and nowhere with other parameters than Candle's."""
    other = {finding.kernel for finding in report.findings if finding.kind in OTHER_PARAMETERS}
    return (_defined(report) & report.specs.keys()) - other - report.adapted


def _hint(report: CheckReport) -> list[str]:
    """The lines of candle-parity.toml by which near names are judged under Candle's."""
    defined = _defined(report)
    near = [
        (finding.intended, finding.kernel)
        for finding in report.findings
        # An extra one of a source has other parameters; of a code object's, with names alone, nothing better is known.
        if (finding.kind == "misnamed" or (finding.kind == "extra" and finding.target))
        and finding.intended is not None
        and finding.intended not in defined
    ]
    lines = suggested_aliases(dict.fromkeys(near), defined, report.specs)
    if not lines:
        return []
    head = "Where these are Candle's kernels under names of the port's own, candle-parity.toml can say so:"
    shown = [f'  "{candle}" = "{port}"' for candle, port in lines[:_SHOWN]]
    more = [f"  # and {len(lines) - _SHOWN} lines more"] if len(lines) > _SHOWN else []
    return ["", head, "", "  [names]", *shown, *more]


def report_text(report: CheckReport) -> str:
    """What ``check`` prints: the findings by kind, and how many kernels of the specs are there."""
    lines: list[str] = []
    for kind, meaning in (*ERROR_KINDS.items(), *WARNING_KINDS.items()):
        findings = [finding for finding in report.findings if finding.kind == kind]
        if not findings:
            continue
        lines += ["", f"{'warning: ' if kind in WARNING_KINDS else ''}{kind} ({len(findings)}): {meaning}"]
        if kind == "missing":
            lines += _missing(findings, {**report.specs, **report.own, **report.own_launchers})
            continue
        lines += [f"  {_described(finding)}" for finding in findings[:_SHOWN]]
        lines += [f"  ... {len(findings) - _SHOWN} more (--json has all)"] if len(findings) > _SHOWN else []
    lines += ["", *_object_table(report.objects)] if report.objects else []
    defined = _defined(report)
    count = sum(map(len, report.tree.definitions.values()))
    files = len(report.tree.definitions)
    parts = (
        [f"{counted(files, 'source file')} define{'s' if files == 1 else ''} {counted(count, 'kernel')}"]
        if files
        else []
    )
    targets = ", ".join(sorted({file.code.target for file in report.objects}))
    parts += [f"{counted(len(report.objects), 'code object')} ({targets})"] if report.objects else []
    lines += ["", f"{one_line(report.kernels)}: {'; '.join(parts) or 'nothing could be read'}"]
    present = len(defined & report.specs.keys())
    behind = len(defined & report.adapted)
    adapted = f", {behind} with parameters that the port declares" if behind else ""
    lines.append(
        f"{present} of Candle's {len(report.specs)} kernels by name, {len(_with_parameters(report))} with Candle's "
        f"parameters{adapted}; "
        f"{counted(len(report.errors), 'finding')}, {counted(len(report.warnings), 'warning')}"
    )
    if report.own:
        lines.append(f"{len(defined & report.own.keys())} of the port's {len(report.own)} own kernels are defined")
    lines += _hint(report)
    return "\n".join(lines).lstrip("\n")


def _object_table(files: Sequence[ObjectFile]) -> list[str]:
    """A row per code object: how many kernels, wave sizes, and the most of each resource that one of them takes."""
    heads = ("code object", "target", "kernels", "wave", "vgpr", "sgpr", "spills", "LDS bytes", "scratch bytes")
    body = []
    for file in files:
        kernels = file.code.kernels.values()
        waves = ", ".join(map(str, sorted({kernel.wave for kernel in kernels})))
        spills = sum((kernel.vgpr_spills or 0) + (kernel.sgpr_spills or 0) for kernel in kernels)
        most = (
            max((kernel.vgprs for kernel in kernels), default=0),
            max((kernel.sgprs for kernel in kernels), default=0),
            spills,
            max((kernel.lds for kernel in kernels), default=0),
            max((kernel.scratch for kernel in kernels), default=0),
        )
        body.append((file.label, file.code.target, len(kernels), waves, *most))
    return tabulate(body, headers=heads).splitlines()


def _described(finding: CheckFinding) -> str:
    where = " ".join(part for part in (finding.place, f"[{finding.target}]" if finding.target else "") if part)
    return one_line(": ".join(part for part in (where, f"{finding.kernel} {finding.message}".strip()) if part))


def _missing(found: Sequence[CheckFinding], specs: Mapping[str, Kernel]) -> list[str]:
    """Missing kernels by target, module and family: a whole family in one word."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for finding in found:
        kernel = specs[finding.kernel]
        groups.setdefault((finding.target or "", kernel.module, kernel.family), []).append(kernel.name)
    sizes = Counter((kernel.module, kernel.family) for kernel in specs.values())
    lines = []
    for (target, module, family), names in groups.items():
        mark = f"[{target}] " if target else ""
        whole = len(names) == sizes[module, family]
        shown = f"all {len(names)}" if whole else ", ".join(names)
        lines.append(f"  {mark}{module}, {family}: {shown}")
    return lines
