"""Kernels, launchers, library calls, own kernels and own launchers: one table says in what they differ."""

from __future__ import annotations

import pytest

from conformance.record import Record
from conformance.session.selection import counts_by_entry
from conformance.spec.entry import ENTRIES, ROWS, Entry
from conformance.spec.load import load_specs
from tests.record.made import row
from tests.runs import run_info


def test_every_kind_of_entry_has_a_row() -> None:
    assert tuple(ROWS) == ENTRIES
    called = ["kernels", "launchers", "library calls", "own kernels", "own launchers"]
    assert [kind.plural for kind in ROWS.values()] == called


@pytest.mark.parametrize("entry", ENTRIES)
def test_specs_and_records_have_each_kind_apart(entry: Entry) -> None:
    specs = load_specs()
    assert bool(specs.of(entry)) == ROWS[entry].in_specs  # a port's repository has the others
    assert {kernel.entry for kernel in specs.of(entry).values()} <= {entry}
    assert {kernel.module for kernel in specs.of(entry).values()} == specs.modules_of(entry).keys()
    rows = {kind: row(f"of_{kind}", "pass") for kind in ENTRIES}
    record = Record.of_parts(run_info(), {kind: [one] for kind, one in rows.items()})
    assert record.rows_of(entry) == (rows[entry],)
    assert record.rows == tuple(rows.values())


PICKED: tuple[tuple[Entry, int], ...] = (("kernel", 2), ("library", 1))


def test_a_selection_is_counted_by_kind() -> None:
    specs = load_specs()
    chosen = [kernel for entry, count in PICKED for kernel in [*specs.of(entry).values()][:count]]
    assert counts_by_entry(chosen) == ["2 kernels", "1 library call"]
