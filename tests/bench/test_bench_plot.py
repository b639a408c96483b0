"""The picture of a bench record."""

from __future__ import annotations

import pytest
from made import FOUR, SPECS, record, workload

pytest.importorskip("matplotlib")

from conformance.report.plot import plot


def test_an_svg_is_the_same_bytes_each_time_and_says_what_it_shows(tmp_path):
    for name in ("a.svg", "b.svg"):
        plot(record(*FOUR), tmp_path / name)
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert text == (tmp_path / "b.svg").read_text(encoding="utf-8")
    for said in ("NVIDIA H100, runtime cuda, 2026-01-02", "abc123", "GB/s", "Gop/s", "unary", "conv1d"):
        assert said in text  # a comment stands before each text


def test_a_png_is_one_and_its_folder_is_made(tmp_path):
    path = tmp_path / "new" / "a.png"
    plot(record(*FOUR), path)
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("rows", [(), (workload("uneg_f32", "shape=[8]", [0.002]),), FOUR[3:]])
def test_records_with_little_in_them_are_drawn_too(tmp_path, rows):
    plot(record(*rows, against=None), tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size > 1000


def test_every_workload_of_the_specs_together_stays_below_a_megabyte(tmp_path):
    rows = [
        workload(kernel.name, fields, [0.01 + n % 9 / 1000], [0.02], moved=(n % 17 + 1) << 20, size=size)
        for n, kernel in enumerate(SPECS.kernels.values())
        for size, cases in kernel.bench.items()
        for fields in cases
    ]
    plot(record(*rows), tmp_path / "all.svg")
    assert (tmp_path / "all.svg").stat().st_size < 1 << 20


def test_a_plot_of_an_incomplete_record_says_so(tmp_path):
    plot(record(*FOUR, complete=False, planned=12), tmp_path / "a.svg")
    assert "incomplete: 4 of 12 workloads timed" in (tmp_path / "a.svg").read_text(encoding="utf-8")
