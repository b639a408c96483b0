"""What a report says of AMD targets that the port was compiled for: that it compiles, and never more than that."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.record import KernelResult, Record
from conformance.report.tally import of_module, results
from conformance.spec.load import Specs

NOT_RUN = (
    "Compiles: a compiler made a code object with the kernel in it. Nothing was executed for this table; it says "
    "nothing of results."
)

_COMPILES = "compiles"


def compiles(rows: Sequence[KernelResult], target: str) -> str:
    """The cell for a target: ``compiles``, with a count if not every kernel of ``rows`` does; a dash if none does."""
    count = sum(target in row.compiles_for for row in rows)
    if count == 0 or not rows:
        return "–"
    return _COMPILES if count == len(rows) else f"{count} of {len(rows)} compile"


def compile_table(record: Record, specs: Specs) -> tuple[list[str], list[list[str]]]:
    """Heads and body of the table of builds: a row for each module and one for all, a column for each target."""
    rows = results(record, specs)
    targets = list(record.run.builds)
    parts = [(module.name, of_module(rows, module.name)) for module in specs.modules.values()]
    body = [
        [name, str(len(part)), *(compiles(part, target) for target in targets)]
        for name, part in [*parts, ("all", rows)]
    ]
    return ["Module", "Kernels", *targets], body


def everything_compiles(heads: Sequence[str], body: Sequence[Sequence[str]]) -> str | None:
    """A sentence to write in place of the table if every kernel compiles for every target; else ``None``."""
    if any(cell != _COMPILES for row in body for cell in row[2:]):
        return None
    return f"All {body[-1][1]} kernels compile for {', '.join(heads[2:])}."


def compilers(record: Record) -> list[str]:
    """A line for each compiler, with its targets: ``gfx90a, gfx942: clang ..., 2026-01-02T03:04:05Z``."""
    groups: dict[tuple[str, str], list[str]] = {}
    for target, build in record.run.builds.items():
        groups.setdefault((build.compiler, build.started), []).append(target)
    return [f"{', '.join(targets)}: {compiler}, {started}" for (compiler, started), targets in groups.items()]


def failures(record: Record) -> list[tuple[str, str]]:
    """What does not compile, with its targets (``kernels/a.hip for gfx90a, gfx942``), and the first error."""
    groups: dict[tuple[str, str], list[str]] = {}
    for target, build in record.run.builds.items():
        for file, error in (*build.failed.items(), *build.broken.items(), *build.lacking.items()):
            groups.setdefault((file, error), []).append(target)
    return [(f"{file} for {', '.join(targets)}", error) for (file, error), targets in groups.items()]


def spilling(record: Record) -> list[str]:
    """The kernels whose registers spill to memory: ``uexp_f32 (12 registers on gfx942)``."""
    return [
        f"{kernel.name} ({build.spills} registers on {target})"
        for kernel in record.kernels
        for target, build in kernel.compiles_for.items()
        if build.spills
    ]
