"""The map of all kernels: a table for each module, a row for each operation, a column for each dtype."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.dtypes import COLUMNS
from conformance.record import KernelResult
from conformance.spec.kernel import FIXED, Kernel
from conformance.spec.load import SpecModule, Specs
from conformance.status import ROWS, WORST_FIRST, Status

_AXES = {"src_dtype": "from {}", "idx_dtype": "by {}", "ncols_y": "× {}"}
"""How a row names what its kernels have in common, where it is not the operation."""


@dataclass(frozen=True)
class Cell:
    """A kernel on the map, with its worst status over all runs."""

    kernel: str
    status: Status
    title: str

    @property
    def sign(self) -> str:
        """The character that stands for the status."""
        return ROWS[self.status].sign


@dataclass(frozen=True)
class Table:
    """The table of a module on the map. A cell of it holds no kernel, one or several."""

    module: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[Cell, ...], ...]], ...]

    @property
    def cells(self) -> Iterator[Cell]:
        """Every kernel of the module."""
        return (cell for _, row in self.rows for cells in row for cell in cells)

    @property
    def passing(self) -> int:
        """How many kernels of the module are at parity in all runs."""
        return sum(cell.status == "pass" for cell in self.cells)

    @property
    def total(self) -> int:
        """How many kernels the module has."""
        return sum(1 for _ in self.cells)


def worst(statuses: Sequence[Status]) -> Status:
    """The worst of ``statuses``. "Not judged in this run" counts only if no run judged the kernel."""
    return min(statuses, key=WORST_FIRST.index)


def place(kernel: Kernel, specs: Specs) -> tuple[str, str]:
    """The titles of the row and the column of ``kernel`` in its module's table."""
    variant = {axis: value for axis, value in kernel.variant.items() if axis != FIXED}
    across = next((axis for axis in ("qtype", "dst_dtype", "dtype") if axis in variant), None)
    column = variant.pop(across) if across else ""
    dtype = variant.pop("dtype", None)
    if dtype is not None and "src_dtype" not in variant and len(_dtypes(kernel, specs)) > 1:
        variant["dtype"] = dtype
    labels = [_AXES.get(axis, "{}").format(value) for axis, value in variant.items() if value != kernel.family]
    family = [] if kernel.family == kernel.module and labels and not kernel.is_host_function else [kernel.family]
    return " ".join([*family, *labels]), column


def _dtypes(kernel: Kernel, specs: Specs) -> set[str | None]:
    every = specs.of(kernel.entry).values()
    mine = (other for other in every if (other.module, other.family) == (kernel.module, kernel.family))
    return {other.variant.get("dtype") for other in mine}


def tables(rows: Sequence[Sequence[KernelResult]], specs: Specs, modules: Mapping[str, SpecModule]) -> list[Table]:
    """The tables of all ``modules``. ``rows`` are the results of each run over their kernels, or launchers."""
    cells: dict[str, dict[str, dict[str, list[Cell]]]] = {module: {} for module in modules}
    for results in zip(*rows, strict=True):
        kernel = specs.entry(results[0].name)
        row, column = place(kernel, specs)
        status = worst([result.status for result in results])
        cell = Cell(kernel.name, status, f"{kernel.name}: {ROWS[status].label}")
        cells[kernel.module].setdefault(row, {}).setdefault(column, []).append(cell)
    return [_table(name, modules[name].title, operations) for name, operations in cells.items() if operations]


def _table(module: str, title: str, operations: dict[str, dict[str, list[Cell]]]) -> Table:
    met = dict.fromkeys(column for row in operations.values() for column in row)
    columns = tuple(sorted(met, key=lambda name: COLUMNS.index(name) if name in COLUMNS else -1))
    families = list(dict.fromkeys(name.partition(" ")[0] for name in operations))
    ordered = sorted(operations, key=lambda name: _row_order(name, families))
    rows = ((name, tuple(tuple(operations[name].get(column, ())) for column in columns)) for name in ordered)
    return Table(module, title, columns, tuple(rows))


def _row_order(name: str, families: list[str]) -> tuple[int, int]:
    """Rows of a family that differ in a dtype only stand in the order of the columns, all others as in the specs."""
    last = name.rpartition(" ")[2]
    return families.index(name.partition(" ")[0]), COLUMNS.index(last) if last in COLUMNS else 0
