"""Shards joined by hand: the record of one run, gaps, and what contradicts."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.record import Record, merge, record_text
from conformance.record.merge import contradictions, elsewhere, gaps, is_shard
from tests.record.made import record, row

NAMES = ("a", "b", "c", "d", "unselected")
ROWS = {
    "a": row("a", "pass", seconds=1.0),
    "b": row("b", "fail", ["n=1"], ["n=2"], seconds=2.0),
    "c": row("c", "missing"),
    "d": row("d", "not_run", message="infrastructure: killed"),
    "unselected": row("unselected", "not_run"),
}
SHARD = {"a": "1/3", "b": "1/3", "c": "2/3", "d": "3/3"}
LINES = {"z.hip": 3, "a.hip": 4}


def whole(**run: Any) -> Record:
    values = {"patterns": ("?",), "selected": 4, "source_lines": dict(sorted(LINES.items())), **run}
    return record(*ROWS.values(), **values)


def part(index: int, changed: Any = None, **run: Any) -> Record:
    mine = f"{index}/3"
    rows = []
    for name in NAMES:
        shard = SHARD.get(name, mine)
        rows.append(ROWS[name] if shard == mine else row(name, "not_run", message=elsewhere(shard)))
    if changed is not None:
        rows = [changed if one.name == changed.name else one for one in rows]
    file = ("z.hip", "a.hip", "z.hip")[index - 1]
    count = sum(shard == mine for shard in SHARD.values())
    values = {"patterns": ("?",), "selected": count, "shard": mine, "source_lines": {file: LINES[file]}, **run}
    return record(*rows, **values)


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 1, 2), (2, 3, 3, 1)])
def test_all_shards_come_to_the_record_of_one_run_but_for_times(order: tuple[int, ...]) -> None:
    (joined,) = merge([part(index, seconds=float(index), started=f"2026-01-0{index}T00:00:00Z") for index in order])
    assert (joined.run.started, joined.run.seconds) == ("2026-01-01T00:00:00Z", 6.0)
    expected = whole(started=joined.run.started, seconds=6.0)
    assert record_text(joined) == record_text(expected)
    assert gaps([joined]) == []


def test_a_missing_shard_is_a_gap_and_the_denominator_stays() -> None:
    (joined,) = merge([part(1), part(3)])
    assert (joined.run.selected, joined.run.complete, joined.run.missing_shards) == (4, False, ("2/3",))
    assert {one.name: (one.status, one.message) for one in joined.kernels}["c"] == ("not_run", "shard 2/3 is missing")
    assert joined.summary.total == 5
    assert gaps([joined]) == ["shard 2/3 is missing: 1 selected kernels have no verdict; give its record too"]


def test_shards_of_other_hosts_are_joined_and_named() -> None:
    (joined,) = merge([part(1, host="x"), part(2, host="y"), part(3, host="x")])
    assert joined.run.host == "x; y"


def test_a_setting_is_declared_by_the_port_where_every_shard_has_it_from_there() -> None:
    (joined,) = merge(
        [part(1, declared_settings=("arch", "wave")), *(part(n, declared_settings=("wave",)) for n in (2, 3))]
    )
    assert joined.run.declared_settings == ("wave",)


@pytest.mark.parametrize(
    "change",
    [{"sources": "s"}, {"specs_digest": "e"}, {"runtime": "rocm"}, {"wave": 32}, {"patterns": ("*",)}, {"git": "abc"}],
    ids=lambda change: next(iter(change)),
)
def test_what_is_not_of_the_same_run_is_not_joined(change: dict[str, Any]) -> None:
    joined = merge([part(1), part(2, **change), part(3)])
    assert [one.run.missing_shards for one in joined] == [("2/3",), ("1/3", "3/3")]


def test_a_shard_given_twice_counts_once_where_the_verdicts_are_the_same() -> None:
    joined = merge([part(1), part(2), part(3), part(1, seconds=9.0)])
    assert [one.run.missing_shards for one in joined] == [()]
    assert contradictions([part(1), part(1, seconds=9.0)]) == []


def test_a_contradiction_is_told_and_hides_no_result() -> None:
    other = part(1, row("b", "pass", cases=2), started="2026-01-09T00:00:00Z")
    given = [part(1), part(2), part(3), other]
    joined = merge(given)
    assert [one.kernels[1].status for one in joined] == ["fail", "pass"]
    assert joined[1].run.missing_shards == ("2/3", "3/3")
    (sentence,) = contradictions(given)
    assert "shard 1/3 and 2026-01-09T00:00:00Z, shard 1/3" in sentence
    assert sentence.endswith("in 1 kernel: b (fail, 1 of 2 cases failed and pass)")
    assert contradictions([part(1), part(1, row("b", "pass"), wave=32)]) == []


def test_records_without_shards_are_merged_as_ever_next_to_them() -> None:
    alone = record(*ROWS.values(), wave=32)
    assert [one.run.wave for one in merge([alone, part(1), part(2), part(3)])] == [32, 64]
    assert [one.run.wave for one in merge([part(1), alone, part(2), part(3)])] == [64, 32]


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "1/x", "1/²", "-1/3"])
def test_what_names_no_shard_is_not_joined(text: str) -> None:
    assert not is_shard(record(shard=text))
    assert is_shard(record(shard="3/3"))
