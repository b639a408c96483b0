"""A port's own kernels are judged by its own references, counted apart, with a gate of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance import api
from tests.commands import Said, answer
from tests.own.ports import OwnPort, changed

CASE = "fadd_relu_f32(shape=[3,5,7],layout=transposed,values=unit)"


def run(capfd: pytest.CaptureFixture[str], *words: str) -> Said:
    return answer(capfd, "run", "--runtime", "cpu", "-j", "1", "--order", "forward", *words)


def own_rows(file: Path) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads(file.read_text())["own"]}


@pytest.mark.slow("compiles a file and judges two kernels over all their cases")
def test_own_kernels_are_counted_apart(port: OwnPort, capfd) -> None:
    said = run(capfd, "fadd_relu_*", "--own", "--json", "r.json", "--fail-under-own", "100")
    assert said.code == 0
    assert "0 of 748 kernels at parity (0.0%), own kernels: 2 of 2 at parity" in said.out
    assert "own kernels 100.00% (2 of 2), gate 100%: met" in said.out
    record = json.loads(Path("r.json").read_text())
    assert record["summary"]["total"] == len(record["kernels"]) == 748
    assert [row["status"] for row in record["own"]] == ["pass", "pass"]
    told = answer(capfd, "report", "r.json", "--fail-under-own", "100", "--junit", "r.xml", "--md", "r.md")
    assert told.code == 0
    assert "own: fused" in Path("r.xml").read_text()
    assert "## Own kernels" in Path("r.md").read_text()


@pytest.mark.slow("compiles a file")
def test_a_mistake_fails_with_its_cause(port: OwnPort, capfd) -> None:
    changed(port.kernels, "lhs[l] + rhs[r]", "lhs[l] + rhs[i]")
    said = run(capfd, "fadd_relu_f32(shape=*;rhs=*;*)", "--own", "--json", "r.json", "--fail-under-own", "50")
    assert said.code == 1
    assert "1 own kernel: The strides of one operand are ignored [S02]" in said.out
    assert "own kernels 0.00% (0 of 2), gate 50%: NOT met" in said.out
    assert own_rows(Path("r.json"))["fadd_relu_f64"]["status"] == "not_run"
    assert answer(capfd, "report", "r.json", "--fail-under-own", "50").code == 1


@pytest.mark.slow("compiles a file")
@pytest.mark.parametrize(
    ("words", "says_why"),
    [
        (("run", "--runtime", "cpu", "-j", "1", CASE), True),
        (("record", "--runtime", "cpu", "traces", CASE), True),
        (("export", "--safetensors", "out", CASE), True),
        (("bench", "--runtime", "cpu", "fadd_relu_f32"), False),
        (("check", "--partial"), False),
        (("list", "--cases", "fadd_relu_f32"), False),
    ],
    ids=lambda words: words[0] if isinstance(words, tuple) else "",
)
def test_the_ports_python_does_not_run_unasked(port: OwnPort, capfd, words: tuple[str, ...], says_why: bool) -> None:
    """Nor does what has the name of a module of ours or of Python's, in the working directory or the folders."""
    text = "from pathlib import Path\nPath('ran').touch()\n"
    port.reference.write_text(text)
    for name in ("__init__", "numpy", "reference"):
        port.reference.with_name(f"{name}.py").write_text(text)
    for name in ("conformance", "reference", "numpy", "own_reference"):
        Path(f"{name}.py").write_text(text)
    said = answer(capfd, *words)
    assert ("give --own where you trust the port" in said.out + said.err) == says_why
    assert not Path("ran").exists()


@pytest.mark.slow("judges kernels")
def test_beside_candles_own_kernels_are_left_out_unasked(port: OwnPort, capfd) -> None:
    said = run(capfd, "fadd_relu_f32", "ufloor_f64", "ufloor_f32", "--json", "r.json")
    assert "the port's own kernel fadd_relu_f32 is not judged: give --own" in said.err
    assert "own" not in json.loads(Path("r.json").read_text())


@pytest.mark.slow("reads every source and spec in a process of a judge")
def test_a_script_is_told_nothing_on_standard_error(port: OwnPort, capfd) -> None:
    """``api.judge`` prints nothing; what it leaves out is not in its record."""
    settings = api.Settings(runtime="cpu", orders=("forward",))
    record = api.judge("kernels", "fadd_relu_f32", "ufloor_f32", settings=settings, jobs=1)
    assert record.own == ()
    assert capfd.readouterr() == ("", "")


def test_a_gate_of_own_kernels_needs_them(port: OwnPort, capfd) -> None:
    said = run(capfd, "uexp_f32", "--fail-under-own", "50")
    assert said.code == 2
    assert "no own kernel is judged; give --own" in said.err


@pytest.mark.slow("seven runs, each in processes of its own")
@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            "total = read",
            "total = 1 / 0 + read",
            "parity/reference/fused.py:{line}: ZeroDivisionError: division by zero",
        ),
        ("total = read", "raise SystemExit(3)\n    total = read", "parity/reference/fused.py:{line}: SystemExit: 3"),
        ("total = read", "total == = read", "parity/reference/fused.py:{line}: invalid syntax"),
        (
            "def add_relu",
            "def add_rely",
            "expected a function add_relu, the family's name in the spec; did you mean add_rely?",
        ),
        (
            '{"out":',
            '{"output":',
            "add_relu answers for output; expected out, the out and inout parameters of the spec",
        ),
        pytest.param(
            'return {"out": np',
            "return np",
            "add_relu answers an array of float32",
            marks=pytest.mark.nightly("a seventh run; that of other names is like it"),
        ),
        ("out.dtype.type(0), total)", "0.0, total.astype(float))", "`.astype(out.dtype)` makes of another"),
    ],
)
def test_a_reference_that_fails_is_not_run_with_its_line(
    port: OwnPort, capfd, before: str, after: str, words: str
) -> None:
    line = changed(port.reference, before, after)
    if before.startswith("return"):
        changed(port.reference, "total)}", "total)")
    said = run(capfd, CASE, "--own", "--json", "r.json")
    row = own_rows(Path("r.json"))["fadd_relu_f32"]
    assert row["status"] == "not_run"
    assert words.format(line=line) in row["message"]
    assert said.code == 2
    assert "run again" not in said.err


@pytest.mark.slow("compiles a file and judges two kernels")
def test_a_reference_that_fails_late_costs_its_kernel_alone(port: OwnPort, capfd) -> None:
    changed(
        port.reference, "    total = read", "    assert variant['dtype'] == 'f64' or lhs.size < 300\n    total = read"
    )
    said = run(capfd, "fadd_relu_*", "--own", "--json", "r.json")
    assert said.code == 1
    assert {name: row["status"] for name, row in own_rows(Path("r.json")).items()} == {
        "fadd_relu_f32": "not_run",
        "fadd_relu_f64": "pass",
    }


def test_list_and_check_know_them(port: OwnPort, capfd) -> None:
    said = answer(capfd, "list", "fadd_relu_*", "--json")
    assert [row["own"] for row in json.loads(said.out)["kernels"]] == [True, True]
    said = answer(capfd, "check", "--partial")
    assert said.code == 0
    assert "2 of the port's 2 own kernels are defined" in said.out
    changed(port.kernels, "const float *rhs", "const double *rhs")
    said = answer(capfd, "check", "fadd_relu_*")
    assert said.code == 1
    assert "fadd_relu_f32" in said.out


def test_export_needs_trust_too(port: OwnPort, capfd) -> None:
    said = answer(capfd, "export", "fadd_relu_f32", "--safetensors", "out")
    assert said.code == 2
    assert "give --own where you trust the port" in said.err


@pytest.mark.slow("compiles a file twice")
def test_a_baseline_holds_own_kernels_too(port: OwnPort, capfd) -> None:
    case = "fadd_relu_f32(shape=[17,19],rhs=transposed,values=unit)"
    assert run(capfd, case, "--own", "--json", "before.json").code == 0
    assert run(capfd, case, "--own", "--baseline", "before.json").code == 0
    changed(port.kernels, "lhs[l] + rhs[r]", "lhs[l] + rhs[i]")
    said = run(capfd, case, "--own", "--baseline", "before.json")
    assert said.code == 1
    assert "1 own kernel is worse than in the baseline" in said.out
