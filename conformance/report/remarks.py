"""What a reader must know of a run before its figures: weakened checks, an interruption, kernels lost on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from conformance.record import KernelResult, Record
from conformance.report.robustness import robustness_note
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
    found: list[tuple[str, str | None]] = [
        ("warning", f"checks were weakened: {', '.join(run.weakened)}" if run.weakened else None),
        ("warning", f"no sandbox: {run.sandbox}" if run.sandbox and run.sandbox.startswith("none") else None),
        ("warning", None if run.complete else _interrupted(record, rows)),
        ("warning", _lost([row for row in rows if row.lost])),
        *(("warning", text) for text in run.infrastructure),
        ("note", f"run on the host: {run.fallback}" if run.fallback else None),
        *(("note", f"device {device} was left out: another architecture") for device in run.left_out_devices),
        ("note", _compilers(record, rows)),
        ("note", _left_out(rows)),
        ("note", robustness_note(rows, specs)),
        ("note", _other_specs(record, specs)),
    ]
    return [Remark(kind, text) for kind, text in found if text]


def _interrupted(record: Record, rows: Sequence[KernelResult]) -> str:
    judged = sum(row.status != "not_run" for row in rows)
    selected = len(rows) if record.run.selected is None else record.run.selected
    return f"interrupted: {judged} of {selected} selected kernels judged"


def _lost(rows: Sequence[KernelResult]) -> str | None:
    if not rows:
        return None
    names = ", ".join(row.name for row in rows[:_NAMED]) + (" ..." if len(rows) > _NAMED else "")
    return f"{len(rows)} selected kernels were not judged, which is not their doing: {names}: {rows[0].message}"


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


def _other_specs(record: Record, specs: Specs) -> str | None:
    digest = record.run.specs_digest
    if digest is None or digest == specs.digest:
        return None
    return f"recorded with the specs of digest {digest}; reported over the kernels of those of digest {specs.digest}"
