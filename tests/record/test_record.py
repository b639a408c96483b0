"""Records: counting, reading, writing and merging."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from conformance.outcome import Failure
from conformance.record import (
    KernelResult,
    Record,
    check_specs,
    every_kernel,
    kept_apart,
    merge,
    read_record,
    record_text,
    summarise,
    write_record,
)
from conformance.record.bench import read_bench
from conformance.record.model import INTERRUPTED
from conformance.spec.entry import Entry
from conformance.spec.load import SPEC_FOLDER, Specs, load_specs
from conformance.status import STATUSES, Status
from conformance.writing import FileError
from tests.runs import run_info

ROOT = SPEC_FOLDER.parent


def kernel(name: str, status: Status, **changes: Any) -> KernelResult:
    values: dict[str, Any] = {
        "name": name,
        "module": "unary",
        "family": "unary",
        "status": status,
        "upstream": "unary.cu:1",
        "cases": int(status == "pass"),
        "message": "why" if status in ("fail", "crash", "timeout") else None,
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
        "evidence": {"elements": [], "answers": [], "fault": None},
    }


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_an_uncountable_distance_is_null(value: float) -> None:
    failure = Failure(case="c", why="w", ulp=value)
    record = Record.of(run_info(), [kernel("k", "fail", cases=1, failed=1, max_ulp=value, failures=(failure,))])
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

    monkeypatch.setattr("os.replace", broken)
    with pytest.raises(FileError, match="No space left"):
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
        ("", "not valid JSON"),
        ('{"schema": 1, "run"', "cut short"),
        ("[]", '"schema": 1'),
        ("{}", '"schema": 1'),
        ('{"schema": NaN}', "NaN is not JSON"),
        (damaged(schema=2), "schema 2"),
        (damaged(run=None), "run: Field required"),
        (damaged(run__device=None), "run.device"),
        (damaged(kernels__0__status="passed"), "kernels.0.status"),
        (damaged(kernels__0__cases=-1), "kernels.0.cases"),
        (damaged(kernels__0__failed=-1), "kernels.0.failed"),
        (
            damaged(kernels__0__cases=0, summary__cases=16),
            "kernels.0: Value error, kernel 'k_pass': a pass needs a case",
        ),
        (damaged(kernels__0__failed=1, summary__cases_failed=2), "'k_pass': a pass needs"),
        (damaged(kernels__0__failures=[{"case": "c", "why": "w"}]), "'k_pass': a pass needs"),
        (damaged(kernels__1__failed=3, summary__cases_failed=3), "'k_fail': 3 of 2 cases failed"),
        (damaged(kernels__5__message=None), "'k_crash': crash without a case that failed"),
        (damaged(run__selected=99), "99 kernels were selected, of 9"),
        (damaged(run__weakened="x" * 9), "run.weakened"),
        (damaged(run__builds={"\x1b[31m\n": {}}), "run.builds.\\x1b[31m .compiler: Field required"),
        (damaged(kernels__1__name="k_pass"), "'k_pass' is recorded twice"),
        (damaged(summary__coverage=100.0), "does not agree with the kernels in coverage"),
        (damaged(summary__pass=2), "does not agree"),
    ],
)
def test_a_wrong_record_is_one_clear_line(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        read_record(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert part in message
    assert "\n" not in message


def test_an_absent_record(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"absent\.json: .*No such file"):
        read_record(tmp_path / "absent.json")


def test_a_record_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="not UTF-8"):
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
    new = ("specs", "specs_digest", "sandbox", "weakened", "selected", "complete", "infrastructure")
    for name in ("git", "harness", "recorded_on", *new):
        del data["run"][name]
    del data["kernels"][0]["left_out"]
    record = Record.model_validate(data)
    run = record.run
    assert (run.git, run.harness, run.recorded_on) == (None, None, ())
    assert [getattr(run, name) for name in new] == [None, None, None, (), None, True, ()]
    assert record.kernels[0].left_out == 0


@pytest.mark.slow("reads and writes records in processes of their own")
@pytest.mark.parametrize("path", sorted((ROOT / "reports" / "records").iterdir()), ids=lambda path: path.name)
def test_the_committed_records_can_be_read(path: Path) -> None:
    if "bench" in path.name:
        assert read_bench(path).workloads
    else:
        record = read_record(path)
        check_specs(record, load_specs(), path)
        assert record.summary.total == 748


@pytest.mark.parametrize("what", ["specs", "specs_digest", "sandbox", "weakened", "target", "declared"])
def test_runs_that_differ_in_what_they_were_judged_by_stay_apart(what: str) -> None:
    values: tuple[Any, ...] = (("a",), ("b",)) if what == "weakened" else ("a", "b")
    records = [Record.of(run_info(**{what: value}), [kernel(f"k{n}", "pass")]) for n, value in enumerate(values)]
    older = Record.of(run_info(), [kernel("old", "pass")])
    assert merge([*records, older]) == [*records, older]


def test_runs_that_are_kept_apart_for_what_the_port_declares_are_told() -> None:
    records = [Record.of(run_info(declared=digest), [kernel(digest, "pass")]) for digest in ("a", "a", "b")]
    (said,) = kept_apart(records)
    assert "were made with different declarations (candle-parity.toml) and are reported apart" in said
    assert kept_apart(records[:2]) == []
    again = Record.of(run_info(declared="b"), [kernel("a", "pass")])  # apart anyhow: the kernel was run in both
    assert kept_apart([records[0], again]) == []
    assert kept_apart([records[0], Record.of(run_info(declared="b", wave=32), [kernel("k", "pass")])]) == []


def test_a_build_joins_no_run_of_other_specs() -> None:
    same = {"sources": "abc", "kernels": "kernels"}
    run = Record.of(run_info(specs_digest="a", **same), [kernel("k", "pass")])
    build = {"runtime": "build", "device": "no device", "builds": {"gfx942": {"compiler": "clang", "started": "now"}}}
    for digest, joined in (("a", True), ("b", False), (None, True)):
        other = Record.of(run_info(specs_digest=digest, **same, **build), [kernel("k", "not_run")])
        assert len(merge([run, other])) == (1 if joined else 2)


def test_merging_adds_what_was_selected_and_what_went_wrong() -> None:
    lost = kernel("b", "not_run", message="infrastructure: the executor died")
    first = Record.of(
        run_info(selected=2, complete=False, infrastructure=("x",)), [kernel("a", "pass"), lost, kernel("c", "not_run")]
    )
    second = Record.of(
        run_info(selected=1, infrastructure=("x", "y")),
        [kernel("a", "not_run"), kernel("b", "not_run"), kernel("c", "pass")],
    )
    for shards in ([first, second], [second, first]):
        (merged,) = merge(shards)
        assert (merged.run.selected, merged.run.complete, merged.run.infrastructure) == (3, False, ("x", "y"))
        assert next(row for row in merged.kernels if row.name == "b").lost
    last = Record.of(run_info(selected=1), [kernel("a", "not_run"), kernel("b", "pass"), kernel("c", "not_run")])
    (merged,) = merge([Record.of(first.run.model_copy(update={"selected": 1}), first.kernels), second, last])
    assert (merged.run.selected, merged.run.complete) == (3, True)


@pytest.mark.parametrize("entry", ["launcher", "own"])
def test_a_merged_run_that_stopped_before_what_is_counted_apart_is_not_complete(entry: Entry) -> None:
    cut = kernel("apart", "not_run", message=INTERRUPTED)
    first = Record.of(run_info(selected=1, complete=False), [kernel("a", "pass"), kernel("b", "not_run")])
    second = Record.of(run_info(selected=1), [kernel("a", "not_run"), kernel("b", "pass")])
    (merged,) = merge([first.with_parts({entry: [cut]}), second])
    assert not merged.run.complete


def record_of(specs: Specs) -> Record:
    folder = None if specs.given is None else str(specs.given)
    return Record.of(run_info(specs=folder, specs_digest=specs.digest), every_kernel(specs, []))


@pytest.fixture
def fill_specs(tmp_path: Path) -> Specs:
    """Specs that are not the harness's own: one module of it."""
    folder = tmp_path / "fill-specs"
    folder.mkdir()
    shutil.copy(SPEC_FOLDER / "fill.yaml", folder)
    return load_specs(folder)


def test_specs_have_a_digest_and_say_where_they_are_from(fill_specs: Specs, tmp_path: Path) -> None:
    own = load_specs()
    assert re.fullmatch("[0-9a-f]{16}", own.digest)
    assert own.given is None
    assert (fill_specs.given, fill_specs.digest == own.digest) == (tmp_path / "fill-specs", False)
    shutil.copytree(SPEC_FOLDER, tmp_path / "copy")
    copy = load_specs(tmp_path / "copy")
    assert (copy.given, copy.digest) == (None, own.digest)
    with (tmp_path / "copy" / "fill.yaml").open("a") as file:
        file.write("# one byte more\n")
    assert load_specs(tmp_path / "copy").digest != own.digest


def test_a_record_that_lacks_a_kernel_of_its_specs_is_not_reported(fill_specs: Specs) -> None:
    own, path = load_specs(), Path("r.json")
    for specs in (own, fill_specs):
        record = record_of(specs)
        check_specs(record, specs, path)
        cut = Record.of(record.run, record.kernels[1:])
        with pytest.raises(FileError, match=f"r.json: the record lacks kernel '{record.kernels[0].name}' of its specs"):
            check_specs(cut, specs, path)
        with pytest.raises(FileError, match="the record has kernel 'stray' that its specs do not have"):
            check_specs(Record.of(record.run, [*record.kernels, kernel("stray", "pass")]), specs, path)


def test_a_record_is_reported_against_its_own_specs_only(fill_specs: Specs) -> None:
    own, path = load_specs(), Path("r.json")
    with pytest.raises(FileError, match=r"the record is of the specs '.*fill-specs' .* give those with --specs"):
        check_specs(record_of(fill_specs), own, path)
    with pytest.raises(FileError, match=r"the record is of the harness's own specs .* leave out --specs"):
        check_specs(record_of(own), fill_specs, path)
    older = Record.of(run_info(specs_digest="of an earlier version"), [kernel("gone", "pass")])
    check_specs(older, own, path)
    check_specs(Record.of(run_info(), [kernel("from before the digest", "pass")]), fill_specs, path)
