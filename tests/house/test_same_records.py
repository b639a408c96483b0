"""The comparison of records that changes of structure are held to."""

from __future__ import annotations

from pathlib import Path

from conformance.record import Record, read_record
from tests.house.same_records import differences

REPORTS = Path(__file__).parents[2] / "reports" / "records"


def of_ours() -> Record:
    return read_record(REPORTS / "parity.json.xz")


def changed(record: Record, name: str, **fields: object) -> Record:
    rows = [row.model_copy(update=fields) if row.name == name else row for row in record.kernels]
    return Record.of(record.run, rows, record.launchers, record.libraries)


def test_what_any_two_runs_differ_in_is_left_out() -> None:
    old = of_ours()
    run = old.run.model_copy(update={"seconds": 1.0, "started": "2026-01-02T03:04:05Z", "git": "0" * 12})
    new = Record.of(run, old.kernels, old.launchers, old.libraries)
    assert list(differences(old, changed(new, "uexp_f32", seconds=9.0))) == []


def test_a_verdict_and_a_rule_are_not() -> None:
    old = of_ours()
    assert next(differences(old, changed(old, "uexp_f32", max_ulp=7.0))).startswith("uexp_f32: max_ulp was ")
    other = Record.of(old.run.model_copy(update={"wave": 32}), old.kernels, old.launchers, old.libraries)
    assert list(differences(old, other)) == ["run: wave was 64 and is 32"]
    fewer = Record.of(old.run, old.kernels, old.launchers[1:], old.libraries)
    assert list(differences(old, fewer)) == [f"{old.launchers[0].name} is only in the old record"]
