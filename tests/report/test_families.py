"""The rows of the status table."""

from __future__ import annotations

from conformance.record import KernelResult, Record, RunInfo, every_kernel
from conformance.report.families import status_table
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
    _, body = status_table([record], ["cpu"], [record.kernels], SPECS)
    return {row[0].replace("\\", ""): row for row in body}


def test_a_family_tells_where_it_is_and_how_it_fares():
    assert rows()["· copy2d"][1:] == ["8", "`k/fill.hip:70–77`", "`fill.cu:34–85`", "–", "✅ 8/8"]


def test_a_module_tells_its_files_and_their_lines():
    module = next(row for name, row in rows().items() if name.startswith("**fill**"))
    assert module[2] == "`k/fill.hip`"
    assert module[3].endswith("/candle-kernels/src/fill.cu), 87 lines")
    assert module[5] == "⚠️ 8/24, 33.3%"


def test_a_family_without_source_is_a_row_too():
    assert rows()["· const_set"][2:] == ["–", "`fill.cu:63–86`", "–", "❌ 0/8"]


def test_the_wiring_counts_kernels_and_names_a_place():
    row = rows(copy2d_f32={"wired_at": ("mod.rs:5",)}, copy2d_u8={"wired_at": ()})["· copy2d"]
    assert row[4] == "1 of 2: `mod.rs:5`"


def test_a_failing_kernel_is_named():
    assert rows(copy2d_f32={"status": "fail", "failed": 1})["· copy2d"][-1] == "⚠️ 7/8 (fails: `copy2d_f32`)"
