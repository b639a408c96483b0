"""What a reader must know of a run before its figures: weakened checks, an interruption, kernels lost on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from conformance.outcome import INFRASTRUCTURE
from conformance.record import KernelResult, Record
from conformance.record.merge import gaps
from conformance.report.declared import fixes, known_failures
from conformance.report.leaks import leak_note
from conformance.report.robustness import failed_robustness, robustness_note
from conformance.spec.load import Specs

_NAMED = 5


class Remark(NamedTuple):
    """``kind`` is ``warning`` where the figures say less than they seem to, else ``note``."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def remarks(record: Record, rows: Sequence[KernelResult], specs: Specs) -> list[Remark]:
    """The remarks on one run; the text is not escaped. ``rows`` are its results over every kernel of the specs."""
    run = record.run
    lost = _lost([row for row in (*rows, *record.launchers) if row.lost])
    found: list[tuple[str, str | None]] = [
        ("warning", f"checks were weakened: {', '.join(run.weakened)}" if run.weakened else None),
        ("warning", f"no sandbox: {run.sandbox}" if run.sandbox and run.sandbox.startswith("none") else None),
        ("warning", None if run.complete or run.missing_shards else _interrupted(record, rows)),
        *(("warning", text) for text in gaps([record])),
        ("warning", lost),
        *(("warning", text) for text in run.infrastructure if text not in (lost or "")),
        ("warning", leak_note(record.launchers)),
        ("note", f"run on the host: {run.fallback}" if run.fallback else None),
        *(("note", f"device {device} was left out: another architecture") for device in run.left_out_devices),
        *(("note", text) for text in (*known_failures(rows), *fixes((*rows, *record.launchers)))),
        *(("note", text) for text in known_failures(record.launchers, "launcher")),
        ("note", _compilers(record, rows)),
        ("note", _left_out(rows)),
        *(("note", text) for text in _of_passing(rows)),
        ("note", robustness_note(rows, specs)),
        ("note", _of_launchers(record, specs)),
        *(("warning", text) for text in _refused(record, rows)),
        ("note", _other_specs(record, specs)),
    ]
    return [Remark(kind, text) for kind, text in found if text]


def _of_launchers(record: Record, specs: Specs) -> str | None:
    """What launchers do in launches that Candle's Rust side never makes, where some fail."""
    return robustness_note(record.launchers, specs, "launcher") if failed_robustness(record.launchers) else None


def shared_remarks(
    found: Sequence[Record], names: Sequence[str], rows: Sequence[Sequence[KernelResult]], specs: Specs
) -> list[tuple[Remark, str]]:
    """The remarks on several runs, each once, with the names of the runs that it is about; warnings are first."""
    said: dict[Remark, list[str]] = {}
    for name, record, part in zip(names, found, rows, strict=True):
        for remark in remarks(record, part, specs):
            said.setdefault(remark, []).append(name)
    told = [(remark, ", ".join(about)) for remark, about in said.items()]
    return sorted(told, key=lambda item: item[0].kind != "warning")


def _interrupted(record: Record, rows: Sequence[KernelResult]) -> str:
    judged = sum(row.status != "not_run" for row in rows)
    selected = len(rows) if record.run.selected is None else record.run.selected
    return f"interrupted: {judged} of {selected} selected kernels judged"


def _lost(rows: Sequence[KernelResult]) -> str | None:
    if not rows:
        return None
    names = ", ".join(row.name for row in rows[:_NAMED]) + (" ..." if len(rows) > _NAMED else "")
    count = "1 selected kernel was" if len(rows) == 1 else f"{len(rows)} selected kernels were"
    whose = "its" if len(rows) == 1 else "their"
    why = (rows[0].message or "").removeprefix(INFRASTRUCTURE)
    return f"{count} not judged, which is not {whose} doing: {names}: {why}"


def _compilers(record: Record, rows: Sequence[KernelResult]) -> str | None:
    """How many kernels each compiler compiled, where there are two to choose from."""
    counts = Counter((row.compiler, row.compiler_name) for row in rows if row.compiler)
    if not counts:
        return None
    compiled = []
    for (compiler, name), count in sorted(counts.items(), key=lambda item: (item[0][0] != "hiprtc", str(item[0]))):
        called = compiler if name is None else f"{compiler} ({name})"
        refused = compiler == "hipcc" and record.run.compiler == "auto"
        why = f" (hiprtc refuses {'its file' if count == 1 else 'their files'})" if refused else ""
        compiled.append(f"by {called}: {count} kernel{'' if count == 1 else 's'}{why}")
    return f"compiled {'; '.join(compiled)}"


def _left_out(rows: Sequence[KernelResult]) -> str | None:
    count = sum(row.left_out for row in rows)
    kernels = sum(row.left_out > 0 for row in rows)
    text = f"{count} cases of {kernels} kernels were not launched: their right answer is a fault, which the device"
    return f"{text} would not survive" if count else None


def _of_passing(rows: Sequence[KernelResult]) -> list[str]:
    """What is to be said of kernels that pass, such as ties in another order, each once."""
    counts = Counter(row.message for row in rows if row.status == "pass" and row.message)
    first = {row.message: row.name for row in reversed(rows) if row.status == "pass" and row.message}
    return [
        f"{first[text]}{f' and {count - 1} kernels more' if count > 1 else ''}: {text}"
        for text, count in counts.items()
    ]


def _refused(record: Record, rows: Sequence[KernelResult]) -> list[str]:
    """Kernels that were put on trial and that AMD's compiler refuses, by their errors."""
    groups: dict[str, tuple[list[str], list[str]]] = {}
    for target, build in record.run.builds.items():
        for row in rows:
            tried = row.cases > 0 and target not in row.compiles_for
            error = build.broken.get(row.name) or build.failed.get((row.source or "").rpartition(":")[0])
            if tried and error is not None:
                names, targets = groups.setdefault(error, ([], []))
                names += [] if row.name in names else [row.name]
                targets += [] if target in targets else [target]
    return [
        f"AMD's compiler refuses {len(names)} kernel{'' if len(names) == 1 else 's'} that "
        f"{'was' if len(names) == 1 else 'were'} put on trial ({', '.join(names[:_NAMED])}"
        f"{' ...' if len(names) > _NAMED else ''}), for {', '.join(targets)}: {error}"
        for error, (names, targets) in groups.items()
    ]


def _other_specs(record: Record, specs: Specs) -> str | None:
    digest = record.run.specs_digest
    if digest is None or digest == specs.digest:
        return None
    return f"recorded with the specs of digest {digest}; reported over the kernels of those of digest {specs.digest}"
