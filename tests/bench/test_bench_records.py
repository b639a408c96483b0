"""Records of bench runs: medians and pairs, what counts as slower, the file, and how it reads as text and Markdown."""

from __future__ import annotations

import re

import pytest
from made import FOUR, RUN, record, workload

from conformance.engine.timing.measure import Loss
from conformance.reading import read_json
from conformance.record.bench import bench_text, read_bench
from conformance.report.bench import FEW, bench_markdown, render_bench
from conformance.writing import FileError, write_text


def test_a_workload_has_the_median_and_quartiles_of_its_launches():
    row = workload("uneg_f32", "shape=[8]", [0.4, 0.1, 0.2, 0.3, 9.0])
    assert (row.ours.ms_low, row.ours.ms, row.ours.ms_high, row.ours.launches) == (0.2, 0.3, 0.4, 5)
    assert row.against is None
    assert row.ratio is None
    assert not row.slower


def test_rates_are_of_the_median():
    row = workload("conv1d_f32", "shape=[1,1,8],k=[3]", [0.002], moved=3_000_000, operations=8_000_000)
    assert (row.gbps, row.share, row.gops) == (1500.0, 0.5, 4000.0)


@pytest.mark.parametrize(
    ("floor", "share"),
    [
        (0.0005, 0.5),  # the copy takes 0.001 ms
        (0.0015, 0.75),
        (None, 0.5),
    ],
)
def test_the_bound_is_the_longer_of_the_copy_and_the_empty_kernel(floor, share):
    assert workload("uneg_f32", "shape=[8]", [0.002], floor=floor).bound_share == pytest.approx(share)


def test_what_computes_nothing_has_no_operations():
    assert workload("conv1d_f32", "shape=[1,1,8],k=[3]", [0.002], operations=0).operations is None


@pytest.mark.parametrize(("copy", "kept"), [(0.0123456789, 0.012346), (3003.14159, 3003.1)])
def test_the_rate_of_a_copy_of_a_few_bytes_is_not_rounded_to_nothing(copy, kept):
    assert workload("fill_u8", "shape=[33]", [0.001], moved=33, copy=copy).copy_gbps == kept


def test_the_ratio_is_the_median_over_pairs_and_not_that_of_medians():
    row = workload("uneg_f32", "shape=[8]", [1.0, 1.0, 4.0, 4.0, 9.0], [2.0, 2.0, 4.0, 4.0, 9.0])
    assert (row.ratio_low, row.ratio, row.ratio_high) == (1.0, 1.0, 2.0)


@pytest.mark.parametrize(
    ("theirs", "slower"),
    [
        ([0.90, 0.90, 0.90, 0.90, 0.90], True),
        ([0.97, 0.97, 0.97, 0.97, 0.97], True),
        ([0.99, 0.99, 0.99, 0.99, 0.99], False),  # within noise
        ([0.90, 0.90, 0.90, 1.10, 1.10], False),  # not in three of four pairs
        ([0.90, 0.90, 0.90, 0.90, 1.10], True),
        ([1.10, 1.10, 1.10, 1.10, 1.10], False),
    ],
)
def test_slower_is_what_most_pairs_say_beyond_noise(theirs, slower):
    assert workload("uneg_f32", "shape=[8]", [1.0] * 5, theirs).slower is slower


@pytest.mark.parametrize("name", ["bench.json", "bench.json.xz", "bench.json.zst"])
def test_a_record_reads_as_it_was_written(tmp_path, name):
    written = record(*FOUR, losses=[Loss(kernel="uexp_f32", cases=("uexp_f32(shape=[8])",), why="a fault")])
    path = tmp_path / name
    write_text(path, bench_text(written))
    assert read_bench(path) == written
    assert read_json(path)["schema"] == 1


def test_a_record_without_workloads_is_json_too(tmp_path):
    path = tmp_path / "bench.json"
    path.write_text(bench_text(record()), encoding="utf-8")
    assert read_bench(path).workloads == ()


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"no JSON", "Invalid JSON"),
        (b"\xff\xfe", "UTF-8"),
        (b'{"schema": 1, "run": {}, "kernels": []}', "bench: Field required"),
        (bench_text(record()).replace('"schema": 1', '"schema": 2').encode(), "schema"),
    ],
)
def test_what_is_no_record_is_said_in_one_line(tmp_path, content, word):
    path = tmp_path / "bench.json"
    path.write_bytes(content)
    with pytest.raises(FileError) as caught:
        read_bench(path)
    for part in ("bench.json", word):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("field", ["bytes", "operations"])
def test_a_record_of_a_launch_that_has_no_rate_is_none(tmp_path, field):
    content = re.sub(rf'"{field}": [0-9]+', f'"{field}": 0', bench_text(record(FOUR[3])))
    (tmp_path / "bench.json").write_text(content)
    with pytest.raises(FileError, match=rf"workloads\.0\.{field}: Input should be greater than 0"):
        read_bench(tmp_path / "bench.json")


def cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def test_few_workloads_are_printed_each():
    text = render_bench(record(*FOUR))
    lines = text.splitlines()
    assert lines[0] == "kernels (abc123) against ../src (def456-dirty) on NVIDIA H100, runtime cuda"
    assert lines[1] == "2026-01-02T03:04:05Z; a copy on the device moves 3,000 GB/s, read and written"
    (row,) = (cells(line) for line in lines if line.startswith("uneg_f32"))
    assert row == ["uneg_f32(shape=[8])", "0.0020", "1,500", "50%", "30", "100%", "0.0010", "30", "0.50"]
    (row,) = (cells(line) for line in lines if line.startswith("conv1d"))
    assert row[4] == "700,000"


def test_a_record_that_is_incomplete_says_so_at_its_head():
    stopped = record(*FOUR, complete=False, planned=12)
    assert render_bench(stopped).splitlines()[2] == "incomplete: the run was stopped, 4 of 12 workloads timed"
    assert "- incomplete: the run was stopped, 4 of 12 workloads timed\n" in bench_markdown(stopped)
    assert "incomplete" not in render_bench(record(*FOUR)) + bench_markdown(record(*FOUR))


def test_the_summary_weighs_families_alike_and_lists_what_is_slower():
    text = render_bench(record(*FOUR))
    # unary: the cube root of 0.5 x 2 x 1 is 1; conv1d: 2
    assert "4 workloads; geometric mean over 2 families: 1.41 times as fast" in text
    assert text.splitlines()[-2].startswith("slower beyond noise")
    assert text.splitlines()[-2].endswith(": 1")
    assert text.splitlines()[-1].split() == ["0.500", "uneg_f32(shape=[8])"]


def test_many_workloads_are_printed_by_family_and_case_unless_every_one_is_asked_for():
    many = record(*FOUR, *FOUR[:1] * FEW)
    (row,) = (cells(line) for line in render_bench(many).splitlines() if "unary  " in line and "shape=[8]" in line)
    assert row[:3] == ["unary", "shape=[8]", str(FEW + 2)]
    assert row[-1] == "uneg_f32"
    assert render_bench(many, every=True).count("uneg_f32(shape=[8])  ") == FEW + 1


def test_without_another_tree_nothing_is_said_of_one():
    alone = workload("uneg_f32", "shape=[8]", [0.002] * 4)
    text = render_bench(record(alone, against=None, against_git=None))
    assert "as fast" not in text
    assert "other" not in text
    assert text.splitlines()[0].startswith("kernels (abc123) on ")


def test_the_host_is_not_taken_for_a_gpu():
    assert "the times say nothing about a GPU" in render_bench(record(*FOUR, runtime="cpu"))
    assert "the times say nothing about a GPU" in bench_markdown(record(*FOUR, runtime="cpu"))


def test_losses_are_named_with_their_reason():
    one = Loss(kernel="uexp_f32", cases=("uexp_f32(shape=[8])",), why="out of memory")
    several = Loss(kernel="ulog_f32", cases=("ulog_f32(shape=[8])", "ulog_f32(shape=[9])"), why="missing")
    for text in (render_bench(record(losses=[one, several])), bench_markdown(record(losses=[one, several]))):
        bare = text.replace("\\", "")
        assert "uexp_f32(shape=[8]): out of memory" in bare
        assert "ulog_f32: missing" in bare


def test_markdown_has_a_row_per_family_and_case():
    text = bench_markdown(record(*FOUR))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    head, rule, unary, transposed, conv, *_ = rows
    means = ["kernels", "ms", "other ms", "GB/s", "of copy: least", "mean", "Gop/s"]
    assert head == ["family", "case", *means, "times as fast: least", "mean", "least is"]
    assert len(rule) == len(head)
    assert unary[:9] == ["`unary`", "`shape=[8]`", "2", "0.0014", "0.0014", "2,121", "50%", "71%", ""]
    assert unary[9:] == ["0.50", "1.00", "`uneg_f32`"]
    assert transposed[1] == "`shape=[2,4],layout=transposed`"
    assert conv[8] == "700,000"


def test_markdown_names_device_date_trees_and_commits_and_what_is_slower():
    text = bench_markdown(record(*FOUR)).replace("\\", "")
    for said in (
        "# How fast kernels are on NVIDIA H100",
        "kernels (abc123) against ../src (def456-dirty)",
        RUN.started,
        "3,000 GB/s",
        "candle-parity at fed321",
        "1.41 times as fast",
        "## Slower than ../src's",
        "| 0.500 | `uneg_f32(shape=[8])` |",
    ):
        assert said in text


def test_markdown_of_names_with_markup_stays_one_cell():
    text = bench_markdown(record(*FOUR, device="a | <b>"))
    assert "a \\| \\<b\\>" in text


FLOORS = (
    workload("uneg_f32", "shape=[8]", [0.002], floor=0.0015),
    workload("uabs_f32", "shape=[8]", [0.004], floor=0.004),
)
"""Copies of both take 0.001 ms."""


def test_the_floor_stands_next_to_the_copy():
    lines = render_bench(record(*FLOORS, against=None)).splitlines()
    assert lines[2] == (
        "an empty kernel with the same grid and block takes 0.0015 to 0.0040 ms; "
        "the bound is the longer of this and the copy"
    )
    (head, row, other) = (cells(line) for line in lines if line.startswith(("case", "uneg_f32", "uabs_f32")))
    assert head[3:6] == ["of copy", "floor ms", "of bound"]
    assert row[3:6] == ["50%", "0.0015", "75%"]
    assert other[3:6] == ["25%", "0.0040", "100%"]


def test_markdown_has_the_share_of_the_bound_by_family():
    text = bench_markdown(record(*FLOORS, against=None))
    assert "\n- an empty kernel with the same grid and block takes 0.0015 to 0.0040 ms; the bound is" in text
    head, _, row = ([cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:1] == "|")
    assert head[5:9] == ["of copy: least", "mean", "of bound: least", "mean"]
    assert row[5:9] == ["25%", "35%", "75%", "87%"]


def test_a_record_from_before_the_floor_says_nothing_of_it():
    read = record(*FOUR)
    assert 'floor_ms": null' in bench_text(read)
    for text in (render_bench(read), render_bench(read, every=True), bench_markdown(read)):
        assert "bound" not in text
        assert "empty kernel" not in text
