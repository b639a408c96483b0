"""The JUnit report: a test case per kernel or launcher, a suite per module (and record)."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree

from conformance.record import KernelResult, Record
from conformance.report.about import Records, executed, given_specs, labels, listed, rerun
from conformance.report.remarks import remarks
from conformance.report.tally import launcher_results, of_module, results
from conformance.spec.load import Specs
from conformance.text import visible

# failure: no parity. error: no answer. skipped: declared, or not selected. As the exit code without a gate has it.
_ELEMENT = {
    "fail": "failure",
    "signature": "error",
    "compile_error": "error",
    "crash": "error",
    "timeout": "error",
    "missing": "failure",
    "known_failure": "skipped",
    "not_run": "skipped",
}
# As next to kernels: one that the port leaves out, or that the runtime does not call, is not a failure.
_LAUNCHER = {**_ELEMENT, "missing": "skipped"}


def render_junit(records: Records, specs: Specs) -> str:
    """An XML 1.0 document with one test case per kernel and record, and no character that XML forbids."""
    found = listed(records)
    root = ElementTree.Element("testsuites", name="candle-parity")
    for name, record in zip(labels(found), found, strict=True):
        rows = results(record, specs)
        for module in specs.modules:
            title = module if len(found) == 1 else f"{module} ({name})"
            _suite(root, title, record, of_module(rows, module), _facts(record, rows, specs))
        for module in specs.launcher_modules if record.launchers else ():
            title = f"launchers: {module}" if len(found) == 1 else f"launchers: {module} ({name})"
            called = of_module(launcher_results(record, specs), module)
            _suite(root, title, record, called, _facts(record, rows, specs), _LAUNCHER)
    ElementTree.indent(root, " ")
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _facts(record: Record, rows: list[KernelResult], specs: Specs) -> dict[str, str]:
    """The properties of every suite; those of specs, sandbox and remarks where there is something to say."""
    run = record.run
    facts = {"runtime": run.runtime, "device": run.device, "executed": executed(run)}
    facts["specs"] = given_specs(run, specs).strip()
    facts["specs_digest"] = run.specs_digest or ""
    facts["sandbox"] = run.sandbox or ""
    facts["remarks"] = "; ".join(map(str, remarks(record, rows, specs)))
    return {key: value for key, value in facts.items() if value}


def _kind(row: KernelResult, elements: Mapping[str, str]) -> str:
    # A message says that the kernel was selected, and why it has no verdict all the same.
    if row.known_reason is not None:
        return "skipped"
    unjudged = row.lost if elements is _LAUNCHER else row.status == "not_run" and row.message
    return "error" if unjudged else elements.get(row.status, "")


def _suite(
    root: ElementTree.Element,
    title: str,
    record: Record,
    rows: list[KernelResult],
    facts: dict[str, str],
    elements: Mapping[str, str] = _ELEMENT,
) -> None:
    kinds = [_kind(row, elements) for row in rows]
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=visible(title),
        tests=str(len(rows)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped=str(kinds.count("skipped")),
        time=f"{sum(row.seconds or 0 for row in rows):.3f}",
        timestamp=visible(record.run.started),
    )
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in facts.items():
        ElementTree.SubElement(properties, "property", name=key, value=visible(value))
    for row, kind in zip(rows, kinds, strict=True):
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=visible(f"{row.module}.{row.family}"),
            name=visible(row.name),
            time=f"{row.seconds or 0:.3f}",
        )
        if kind:
            first = row.known_reason or row.message or (row.failures[0].why if row.failures else row.status)
            detail = ElementTree.SubElement(case, kind, type=row.status, message=visible(first))
            if kind != "skipped":
                detail.text = visible(_detail(record, row))


def _detail(record: Record, row: KernelResult) -> str:
    lines = [f"{row.status}: {row.counts}; upstream {row.upstream}; source {row.source}"]
    if row.message:
        lines.append(row.message)
    for failure in row.failures:
        lines += [failure.case, f"  {failure.why}"]
        if failure.got is not None:
            lines.append(f"  element {failure.index}: got {failure.got}, expected {failure.expected}")
        lines.append(f"  {failure.reproduce}")
    if not row.failures:
        lines.append(rerun(record.run, row.name))
    return "\n".join(lines)
