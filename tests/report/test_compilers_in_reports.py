"""Which compiler the kernels of a run went through, in one line of every report of the run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.record import KernelResult, Record, RunInfo, every_kernel
from conformance.record.merge import merge
from conformance.report.html import render_html
from conformance.report.markdown import render_markdown
from conformance.report.runs import rerun
from conformance.report.terminal import render_terminal
from conformance.spec.load import Specs, load_specs

CLANG = "ROCm's clang 19.0"


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def record(specs: Specs, asked: str | None, compilers: dict[str, tuple[str | None, str | None]]) -> Record:
    run = RunInfo(
        runtime="rocm",
        device="AMD Instinct MI300X",
        arch="gfx942",
        wave=64,
        kernels="port",
        started="2026-01-02T03:04:05Z",
        seconds=1.0,
        upstream_commit="2a13b0f",
        compiler=asked,
    )
    rows = [
        KernelResult(
            **{key: getattr(specs.kernels[name], key) for key in ("name", "module", "family", "upstream")},
            status="pass",
            cases=1,
            compiler=compiler,
            compiler_name=called,
        )
        for name, (compiler, called) in compilers.items()
    ]
    return Record.of(run, every_kernel(specs, rows))


def joined(text: str) -> str:
    """Without the breaks and signs of a format."""
    return " ".join(text.replace("\\", "").replace("&#x27;", "'").replace("&#39;", "'").split())


BOTH = {"fill_u8": ("hiprtc", None), "fill_u32": ("hiprtc", None), "fill_f32": ("hipcc", CLANG)}


@pytest.mark.parametrize("render", [render_terminal, render_markdown, render_html])
@pytest.mark.slow("renders reports of 748 kernels in each format")
@pytest.mark.parametrize(
    ("asked", "compilers", "line"),
    [
        (
            "auto",
            BOTH,
            "compiled by hiprtc: 2 kernels; by hipcc (ROCm's clang 19.0): 1 kernel (hiprtc refuses its file)",
        ),
        ("auto", {"fill_u8": ("hiprtc", None)}, "compiled by hiprtc: 1 kernel"),
        ("hipcc", {"fill_u8": ("hipcc", CLANG)}, "compiled by hipcc (ROCm's clang 19.0): 1 kernel"),
    ],
)
def test_the_line_counts_kernels_by_compiler(
    specs: Specs, render: Callable[..., str], asked: str, compilers: dict[str, tuple[str, str]], line: str
) -> None:
    output = joined(render(record(specs, asked, compilers), specs))
    assert line in output
    assert ("refuses" in output) == ("refuses" in line)


@pytest.mark.parametrize("render", [render_terminal, render_markdown, render_html])
def test_nothing_is_said_where_there_is_one_compiler(specs: Specs, render: Callable[..., str]) -> None:
    assert "compiled by" not in joined(render(record(specs, None, {"fill_u8": (None, None)}), specs))


def test_the_command_that_runs_a_kernel_again_names_the_compiler(specs: Specs) -> None:
    assert rerun(record(specs, "auto", BOTH).run, "fill_u8").endswith("--runtime rocm --kernels port fill_u8")
    assert "--compiler hipcc" in rerun(record(specs, "hipcc", BOTH).run, "fill_u8")


def test_runs_with_another_compiler_are_other_runs(specs: Specs) -> None:
    one, other = (
        record(specs, "auto", {"fill_u8": ("hiprtc", None)}),
        record(specs, "auto", {"fill_f32": BOTH["fill_f32"]}),
    )
    (whole,) = merge([one, other])
    assert {row.name: row.compiler for row in whole.kernels if row.compiler} == {
        "fill_u8": "hiprtc",
        "fill_f32": "hipcc",
    }
    assert len(merge([one, record(specs, "hipcc", {"fill_f32": BOTH["fill_f32"]})])) == 2
