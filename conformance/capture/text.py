"""What ``capture`` prints: the table of kernels, what was recorded, and the first wrong launch."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from conformance.capture.convert import Converted
from conformance.capture.launches import Seen
from conformance.capture.program import Ended
from conformance.capture.tally import KernelTally, first_wrong, never_launched, unrecorded
from conformance.record import Record
from conformance.report.causes import find_causes
from conformance.report.causes.text import cause_lines
from conformance.report.kernels import explain
from conformance.spec.load import Specs
from conformance.text import some

_NAMED = 5
_FEW = 3
"""Wrong launches of a kernel of which a cause is not told as if it were certain."""


def launches(count: int) -> str:
    """``1 launch``, ``2 launches``."""
    return f"{count:,} {'launch' if count == 1 else 'launches'}"


def table(
    found: Mapping[str, KernelTally],
    specs: Specs,
    seen: Sequence[Seen],
    converted: Converted,
    verbose: bool = False,
) -> list[Text | Table]:
    """The figures of the kernels of the specs that were launched, and a line each on what has none.

    ``verbose`` names the kernels that were never launched, and all that are in no spec.
    """
    figures = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("kernel", "launches", "shapes", "judged", "right", "wrong"):
        figures.add_column(title, justify="left" if title == "kernel" else "right", no_wrap=True)
    known = specs.kernels | specs.launchers
    mine = [row for row in found.values() if row.name in known]
    for row in mine:
        numbers = (row.launches, len(row.shapes), row.judged, row.right, row.wrong)
        figures.add_row(Text(row.name), *map(str, numbers), style="red" if row.wrong else "")
    lines: list[Text | Table] = [figures] if mine else []
    others = [f"{row.name} ({launches(row.launches)})" for row in found.values() if row.name not in known]
    if others:
        lines.append(Text(f"in no spec, and not recorded: {some(others, len(others) if verbose else _NAMED)}"))
    lines += map(Text, unrecorded(seen))
    names = {one.number: one.kernel for one in seen}
    for number, why in converted.refused.items():
        lines.append(Text(f"launch {number} of {names[number]} is not judged: {why}"))
    lines += map(Text, _otherwise(converted.unusual, names))
    absent = never_launched(found, specs)
    lines.append(Text(f"never launched: {len(absent)} of {len(specs.kernels)} kernels of the specs"))
    return [*lines, *(Text(f"  {name}") for name in absent if verbose)]


def _otherwise(unusual: Mapping[int, str], names: Mapping[int, str]) -> list[str]:
    """A line for each kernel and geometry that Candle's Rust does not launch the kernel with."""
    counts = Counter((names[number], why) for number, why in unusual.items())
    return [
        f"{name}: {launches(count)} otherwise than by Candle's Rust: {why}" for (name, why), count in counts.items()
    ]


def cost(seen: Sequence[Seen], folder: Path, ended: Ended | None) -> str:
    """How much was recorded into ``folder``, and what that made of the program's time."""
    spent = sum(one.spent for one in seen) / 1e9
    size = sum(one.bytes for one in seen) / 1e6
    stored = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    recorded = sum(one.is_recorded for one in seen)
    what = f"recorded {recorded} of {launches(len(seen))}, {size:.1f} MB of buffers ({stored:.1f} MB in {folder})"
    if ended is None or len({one.process for one in seen if one.spent}) > 1:  # several are recorded at the same time
        return what
    factor = ended.seconds / max(ended.seconds - spent, 1e-9)
    return f"{what}; the program took {ended.seconds:.2f} s, {factor:.2f} times what it takes without recording"


def verdict(record: Record, specs: Specs, folder: Path) -> list[str]:
    """How many launches of the recording in ``folder`` are wrong, which is the first in the program's order and what is
    wrong with it, how to keep it as a case, and why."""
    rows = [row for row in record.rows if row.cases]
    judged, failed = sum(row.cases for row in rows), sum(row.failed for row in rows)
    wrong = first_wrong(rows)
    if wrong is None:
        right = f"{launches(judged)} judged, {'right' if judged == 1 else 'all right'}"
        return [right if judged else "nothing was judged"]
    number, row, failure = wrong
    head = f"{failed} of {launches(judged)} that were judged {'is' if failed == 1 else 'are'} wrong"
    first = row.model_copy(update={"failures": (failure,)})
    causes = cause_lines(find_causes([row for row in rows if row.failed], specs))
    if causes and max(row.failed for row in rows) < _FEW:
        few = "what so few launches of a kernel show can be a coincidence of their shapes and values"
        causes.append(f"{few}: `candle-parity run --kernels path/to/port {shlex.quote(row.name)}` tries many others")
    return [
        "",
        f"{head}; the first in the program's order is launch {number}:",
        *explain(row.name, first, shown=1),
        f"    candle-parity new --case-from {shlex.quote(f'{folder}#{number}')}   # keeps it as a case",
        "",
        *causes,
    ]
