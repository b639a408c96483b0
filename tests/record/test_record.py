"""Records: counting, reading, writing and merging."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from conformance.record import (
    STATUSES,
    Failure,
    KernelResult,
    Record,
    RecordError,
    RunInfo,
    Status,
    every_kernel,
    merge,
    read_record,
    record_text,
    summarise,
    write_record,
)
from conformance.spec.load import load_specs


def run_info(**changes: Any) -> RunInfo:
    values: dict[str, Any] = {
        "runtime": "cpu",
        "device": "host, 2 cores",
        "wave": 64,
        "kernels": "kernels",
        "started": "2026-01-02T03:04:05Z",
        "seconds": 1.5,
        "hip_python": "10.0",
        "upstream_commit": "2a13b0f",
        **changes,
    }
    return RunInfo(**values)


def kernel(name: str, status: Status, **changes: Any) -> KernelResult:
    values: dict[str, Any] = {
        "name": name,
        "module": "unary",
        "family": "unary",
        "status": status,
        "upstream": "unary.cu:1",
        **changes,
    }
    return KernelResult(**values)


def one_of_each() -> list[KernelResult]:
    return [kernel(f"k_{status}", status, cases=2, failed=int(status == "fail")) for status in STATUSES]


def test_summary_counts_every_status_once() -> None:
    summary = summarise(one_of_each())
    assert summary.total == 9
    assert all(summary.count(status) == 1 for status in STATUSES)
    assert (summary.cases, summary.cases_failed) == (18, 1)


def test_coverage_counts_only_passes_over_all_kernels() -> None:
    assert summarise(one_of_each()).coverage == round(100 / 9, 4)
    assert summarise([kernel("a", "known_failure"), kernel("b", "not_run")]).coverage == 0
    assert summarise([]).coverage == 0
    # One kernel short of everything must never round up to 100.
    almost = [kernel(f"k{index}", "pass") for index in range(747)] + [kernel("last", "fail")]
    assert summarise(almost).coverage < 99.9


def test_the_json_has_the_fields_of_the_contract() -> None:
    failure = Failure(case="k(n=1)", why="off", index=3, got="1.5", expected="1", ulp=9.0, reproduce="run it")
    record = Record.of(run_info(), [kernel("k", "fail", cases=1, failed=1, max_ulp=9.0, failures=(failure,))])
    data = json.loads(record_text(record))
    assert data["schema"] == 1
    assert {"runtime", "device", "wave", "kernels", "started", "seconds", "hip_python", "upstream_commit"} <= set(
        data["run"]
    )
    assert set(data["summary"]) == {"total", *STATUSES, "cases", "cases_failed", "coverage"}
    assert data["kernels"][0]["failures"][0] == {
        "case": "k(n=1)",
        "why": "off",
        "index": 3,
        "got": "1.5",
        "expected": "1",
        "ulp": 9.0,
        "reproduce": "run it",
    }


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_an_uncountable_distance_is_null(value: float) -> None:
    failure = Failure(case="c", why="w", ulp=value)
    record = Record.of(run_info(), [kernel("k", "fail", max_ulp=value, failures=(failure,))])
    assert record.kernels[0].max_ulp is None
    assert json.loads(record_text(record), parse_constant=pytest.fail)["kernels"][0]["failures"][0]["ulp"] is None


def test_writing_and_reading_gives_the_same_record(tmp_path: Path) -> None:
    failure = Failure(case="k(a=[1,2])", why="line\nbreak | pipe \x00 \x1b[31m é \ud800", got="nan", expected="-0")
    record = Record.of(run_info(orders=("forward", "shuffle:1")), [kernel("k", "fail", failures=(failure,))])
    path = tmp_path / "deep" / "record.json"
    clean = Record.of(record.run, [kernel("k", "pass")])
    write_record(clean, path)
    assert read_record(path) == clean
    write_record(record, path)
    text = path.read_bytes().decode("utf-8")
    assert json.loads(text)["kernels"][0]["failures"][0]["got"] == "nan"
    assert [item.name for item in path.parent.iterdir()] == ["record.json"]


def test_a_failed_write_leaves_the_old_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "record.json"
    write_record(Record.of(run_info(), [kernel("k", "pass")]), path)
    before = path.read_bytes()

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("conformance.record.files.os.replace", broken)
    with pytest.raises(RecordError, match="No space left"):
        write_record(Record.of(run_info(), [kernel("k", "fail")]), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_unknown_fields_are_ignored(tmp_path: Path) -> None:
    data = json.loads(record_text(Record.of(run_info(), [kernel("k", "pass")])))
    data["run"]["colour"] = "red"
    path = tmp_path / "record.json"
    path.write_text(json.dumps(data))
    assert read_record(path).kernels[0].name == "k"


def damaged(**changes: Any) -> str:
    data = json.loads(record_text(Record.of(run_info(), one_of_each())))
    for place, value in changes.items():
        *parents, last = place.split("__")
        target = data
        for parent in parents:
            target = target[int(parent) if parent.isdigit() else parent]
        if value is None:
            del target[last]
        else:
            target[last] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no valid JSON"),
        ('{"schema": 1, "run"', "cut short"),
        ("[]", '"schema": 1'),
        ("{}", '"schema": 1'),
        ('{"schema": NaN}', "NaN is not JSON"),
        (damaged(schema=2), "schema 2"),
        (damaged(run=None), "run: Field required"),
        (damaged(run__device=None), "run.device"),
        (damaged(kernels__0__status="passed"), "kernels.0.status"),
        (damaged(kernels__0__cases=-1), "kernels.0.cases"),
        (damaged(kernels__1__name="k_pass"), "k_pass is recorded twice"),
        (damaged(summary__coverage=100.0), "does not agree with the kernels in coverage"),
        (damaged(summary__pass=2), "does not agree"),
    ],
)
def test_a_wrong_record_is_one_clear_line(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(RecordError) as caught:
        read_record(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert part in message
    assert "\n" not in message


def test_an_absent_record(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"absent\.json: .*No such file"):
        read_record(tmp_path / "absent.json")


def test_a_record_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(RecordError, match="not UTF-8"):
        read_record(path)


def test_every_kernel_of_the_specs_has_a_row() -> None:
    specs = load_specs()
    result = kernel("uexp_f32", "pass")
    rows = every_kernel(specs, [result])
    assert [row.name for row in rows] == list(specs.kernels)
    assert sum(row.status == "not_run" for row in rows) == len(specs.kernels) - 1
    assert result in rows
    with pytest.raises(ValueError, match="no_such_kernel"):
        every_kernel(specs, [kernel("no_such_kernel", "pass")])


def test_merging_shards_fills_in_what_was_not_run() -> None:
    first = Record.of(run_info(patterns=("a",)), [kernel("a", "pass", cases=3), kernel("b", "not_run")])
    second = Record.of(
        run_info(patterns=("b",), started="2026-01-01T00:00:00Z", seconds=2.0),
        [kernel("a", "not_run"), kernel("b", "fail", cases=1, failed=1)],
    )
    (merged,) = merge([first, second])
    assert [(row.name, row.status) for row in merged.kernels] == [("a", "pass"), ("b", "fail")]
    assert merged.summary.coverage == 50
    assert merged.run.started == "2026-01-01T00:00:00Z"
    assert merged.run.seconds == 3.5
    assert merged.run.patterns == ("a", "b")


def test_two_results_for_one_kernel_stay_apart() -> None:
    first = Record.of(run_info(), [kernel("a", "pass"), kernel("b", "not_run")])
    again = Record.of(run_info(), [kernel("a", "crash"), kernel("b", "not_run")])
    other = Record.of(run_info(), [kernel("a", "not_run"), kernel("b", "pass")])
    merged = merge([first, again, other])
    assert [[row.status for row in one.kernels] for one in merged] == [["pass", "pass"], ["crash", "not_run"]]


def test_other_machines_stay_apart() -> None:
    records = [
        Record.of(run_info(), [kernel("a", "pass")]),
        Record.of(run_info(runtime="rocm", device="gfx1100"), [kernel("a", "fail")]),
        Record.of(run_info(wave=32), [kernel("a", "pass")]),
    ]
    assert merge(records) == records


@pytest.mark.parametrize("what", ["git", "harness"])
def test_runs_of_different_commits_stay_apart(what: str) -> None:
    records = [Record.of(run_info(**{what: commit}), [kernel(commit, "pass")]) for commit in ("abc123", "def456")]
    assert merge(records) == records


def test_a_record_from_before_a_field_is_read_without_it() -> None:
    data = json.loads(record_text(Record.of(run_info(), [kernel("a", "pass")])))
    for name in ("git", "harness", "recorded_on"):
        del data["run"][name]
    run = Record.model_validate(data).run
    assert (run.git, run.harness, run.recorded_on) == (None, None, ())
