"""The joined table of families."""

from __future__ import annotations

from conformance.record import KernelResult, Record, RunInfo, every_kernel
from conformance.report.families import family_table
from conformance.spec.load import load_specs

SPECS = load_specs()


def rows(**changes):
    run = RunInfo(runtime="cpu", device="d", wave=64, started="2026-01-02T03:04:05Z", seconds=1, upstream_commit="c")
    results = [
        KernelResult(
            name=name,
            module="fill",
            family="copy2d",
            upstream=SPECS.kernels[name].upstream,
            **({"status": "pass", "cases": 1, "source": f"k/fill.hip:{line}"} | changes.get(name, {})),
        )
        for line, name in enumerate((name for name in SPECS.kernels if name.startswith("copy2d_")), 70)
    ]
    record = Record.of(run, every_kernel(SPECS, results))
    _, body = family_table([record], ["cpu"], [record.kernels], SPECS)
    return {row[1].replace("\\", ""): row for row in body}


def test_a_family_tells_where_it_is_and_how_it_fares():
    row = rows()["copy2d"]
    assert row[:5] == ["fill", "copy2d", "8", "`k/fill.hip:70–77`", "`fill.cu:34–85`"]
    assert row[5:] == ["–", "–", "✅ 8/8, 100.0%"]


def test_a_family_without_source_is_a_row_too():
    row = rows()["const_set"]
    assert row[3] == "–"
    assert row[-1] == "❌ 0/8, 0.0%"


def test_the_wiring_counts_kernels_and_names_a_place():
    row = rows(copy2d_f32={"wired_at": ("mod.rs:5",)}, copy2d_u8={"wired_at": ()})["copy2d"]
    assert row[5] == "1 of 2: `mod.rs:5`"


def test_a_failing_kernel_is_in_the_percentage():
    assert rows(copy2d_f32={"status": "fail", "failed": 1})["copy2d"][-1] == "⚠️ 7/8, 87.5%"
