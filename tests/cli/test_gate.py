"""Exit codes as a table: what was judged, what was asked for, what comes out."""

from __future__ import annotations

import json
import shutil
from typing import get_args

import pytest

from conformance.record import KernelResult, Record, RunInfo, write_record
from conformance.record.assemble import shown
from conformance.record.compare import compare
from conformance.session.gate import Against
from conformance.spec.load import SPEC_FOLDER, load_specs
from conformance.status import FAILURES, Status
from tests.cli.gates import decide
from tests.record.made import record

TOTAL = 8
LOST = "infrastructure: the executor was killed twice"
EMPTY = "only empty cases were selected: nothing was judged"


def row(status: Status, message: str | None = None) -> KernelResult:
    failing = status in ("fail", "crash", "timeout")
    cases = int(failing or status in ("pass", "known_failure"))
    return KernelResult(
        name=f"k_{status}",
        module="m",
        family="f",
        upstream="m.cu:1",
        status=status,
        cases=cases,
        failed=int(failing),
        message=message,
    )


PASS, KNOWN, MISSING, IDLE = row("pass"), row("known_failure"), row("missing"), row("not_run", "no case was run")
NOT_JUDGED, GONE = row("not_run", EMPTY), row("not_run", LOST)

# The selected rows, and the exit code without a gate, with a gate that is reached (12.5%), with one that is not (99%),
# and with each of them under --strict.
TABLE = [
    ([PASS], 0, 0, 1, 0, 1),
    ([PASS, KNOWN], 0, 0, 1, 0, 1),
    ([PASS, IDLE], 1, 0, 1, 1, 1),
    ([PASS, NOT_JUDGED], 1, 0, 1, 1, 1),
    *(([PASS, row(status)], 1, 0, 1, 1, 1) for status in FAILURES),
    # Failures that the port declares.
    *(([PASS, row(status).model_copy(update={"known_reason": "R"})], 0, 0, 1, 0, 1) for status in FAILURES),
    # A selected kernel that was lost: whatever else holds.
    ([PASS, GONE], 2, 2, 2, 2, 2),
    ([PASS, row("fail"), GONE], 2, 2, 2, 2, 2),
    # Nothing judged.
    ([], 2, 2, 2, 2, 2),
    ([MISSING], 2, 2, 2, 2, 2),
    ([MISSING, MISSING], 2, 2, 2, 2, 2),
    ([IDLE], 2, 2, 2, 2, 2),
    ([NOT_JUDGED], 2, 2, 2, 2, 2),
    ([MISSING, NOT_JUDGED], 2, 2, 2, 2, 2),
    ([GONE], 2, 2, 2, 2, 2),
]
# Without a pass no gate above 0 is reached.
NONE_PASSED = [
    ([KNOWN], 0),
    ([KNOWN, IDLE], 1),
    *(([row(status)], 1) for status in FAILURES if status != "missing"),
    ([row("compile_error"), MISSING], 1),
]


def names(rows: list[KernelResult]) -> str:
    return "+".join("lost" if one.lost else one.status for one in rows) or "nothing"


@pytest.mark.parametrize("case", TABLE, ids=lambda case: names(case[0]))
def test_the_exit_code_and_the_line_agree(case: tuple[list[KernelResult], int, int, int, int, int]) -> None:
    rows, plain, reached, not_reached, strict_reached, strict_not_reached = case
    assert decide(rows, TOTAL).code == decide(rows, TOTAL, strict=True).code == plain
    for gate, strict, code in (
        (12.5, False, reached),
        (99.0, False, not_reached),
        (12.5, True, strict_reached),
        (99.0, True, strict_not_reached),
    ):
        decision = decide(rows, TOTAL, gate, strict)
        assert decision.code == code
        assert decision.line is not None
        end = decision.line.split("%: ", 1)[1]
        assert end.startswith({0: "met", 1: "NOT met", 2: "not decided"}[code])
        assert (": --strict" in decision.line) == (strict and code == 1 and gate == 12.5)


@pytest.mark.parametrize("case", NONE_PASSED, ids=lambda case: names(case[0]))
def test_what_was_judged_and_did_not_pass(case: tuple[list[KernelResult], int]) -> None:
    rows, plain = case
    assert decide(rows, TOTAL).code == plain
    assert decide(rows, TOTAL, 0.0).code == 0
    assert decide(rows, TOTAL, 0.0, strict=True).code == plain
    assert decide(rows, TOTAL, 0.1).code == 1


def test_every_status_stands_in_a_table() -> None:
    assert {one.status for case in (*TABLE, *NONE_PASSED) for one in case[0]} == set(get_args(Status))


def test_a_code_of_2_has_a_sentence() -> None:
    for rows in ([], [MISSING], [IDLE], [NOT_JUDGED], [GONE], [PASS, GONE], [PASS, *[GONE] * 9]):
        decision = decide(rows, TOTAL)
        (why,) = decision.why
        assert decision.code == 2
        assert "\n" not in why
        assert all(one.name in why for one in rows if one.status != "pass")
    assert EMPTY in decide([NOT_JUDGED], TOTAL).why[0]
    assert LOST in decide([PASS, GONE], TOTAL).why[0]
    assert "and 4 more" in decide([GONE] * 9, TOTAL).why[0]


def test_what_was_not_judged_or_not_there_is_named_with_a_verdict() -> None:
    assert decide([PASS, NOT_JUDGED], TOTAL).why == (f"not judged: k_not_run ({EMPTY})",)
    assert decide([PASS, MISSING], TOTAL).why == ("defined in no source: k_missing",)
    assert decide([PASS], TOTAL).why == ()


@pytest.mark.nightly("whole runs by the command")
@pytest.mark.parametrize(
    ("passed", "total", "gate", "line"),
    [
        (1, 8, 1.0, "coverage 12.50% (1 of 8 kernels), gate 1%: met"),
        (8, 8, 100.0, "coverage 100.00% (8 of 8 kernels), gate 100%: met"),
        (1, 3, 33.33, "coverage 33.33% (1 of 3 kernels), gate 33.33%: met"),
        (1, 3, 33.334, "coverage 33.33% (1 of 3 kernels), gate 33.334%: NOT met"),
        (1, 3, 33.333, "coverage 33.333% (1 of 3 kernels), gate 33.333%: met"),
        # Rounded to two or four decimals it would be 100%.
        (9_999_999, 10_000_000, 100.0, "coverage 99.99% (9999999 of 10000000 kernels), gate 100%: NOT met"),
        (147, 1000, 14.7, "coverage 14.70% (147 of 1000 kernels), gate 14.7%: met"),
    ],
)
def test_the_coverage_is_compared_unrounded(passed: int, total: int, gate: float, line: str) -> None:
    decision = decide([PASS] * passed, total, gate)
    assert decision.line == line
    assert decision.code == int("NOT" in line)


def test_passes_over_a_part_of_the_cases_stand_in_the_line() -> None:
    """A condition of the port's own (``when``) takes cases out of the verdict, so the gate says how many passes have
    one."""
    some = PASS.model_copy(update={"launched_when": "numel <= 3"})
    line = decide([PASS, some, some, row("fail")], 8, 25).line
    assert (
        line == "coverage 37.50% (3 of 8 kernels, 2 of them judged only in cases that the port declares to "
        "launch), gate 25%: met"
    )
    failing = row("fail").model_copy(update={"launched_when": "numel <= 3"})
    assert decide([PASS, failing], 8, 12).line == "coverage 12.50% (1 of 8 kernels), gate 12%: met"


def test_specs_that_are_not_the_harness_own_stand_in_the_line() -> None:
    line = decide([PASS], 1, 1.0, specs=" of the given specs DIR").line
    assert line == "coverage 100.00% (1 of 1 kernels of the given specs DIR), gate 1%: met"


# The same through the command line, with kernels that are the smallest for their purpose.

PORT = """#include <hip/hip_runtime.h>
extern "C" __global__ void uneg_f32(size_t numel, size_t num_dims, const size_t *info, const float *inp, float *out) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x) out[i] = -inp[i];
}
extern "C" __global__ void uabs_f32(size_t numel, size_t num_dims, const size_t *info, const float *inp, float *out) {
}
"""
RIGHT, WRONG = "uneg_f32(shape=[41],values=unit)", "uabs_f32(shape=[41],values=unit)"
EMPTY_CASE = "uabs_f32(shape=[0],values=unit)"


@pytest.mark.nightly("whole runs by the command")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((RIGHT,), 0, ""),
        ((RIGHT, WRONG), 1, "uabs_f32: fail"),
        ((RIGHT, WRONG, "--fail-under", "0.1"), 0, "coverage 0.13% (1 of 748 kernels), gate 0.1%: met"),
        ((RIGHT, WRONG, "--fail-under", "1"), 1, "gate 1%: NOT met"),
        ((RIGHT, "uexp_f32"), 1, "defined in no source: uexp_f32"),
        (("uexp_f32", "--fail-under", "0"), 2, "define none of the 1 selected kernels"),
        ((EMPTY_CASE,), 2, f"nothing was judged: uabs_f32: {EMPTY}"),
        ((EMPTY_CASE, WRONG), 1, "uabs_f32: fail, 1 of 2 cases"),
    ],
)
def test_the_command_line_exits_as_the_table_says(cli, port, words, code, said):
    answer = cli("run", *words, "--runtime", "cpu", "--order", "forward", "--kernels", port(PORT), "-j", "1")
    assert answer.code == code
    assert said in answer.out + answer.err


@pytest.mark.slow("whole runs by the command")
def test_a_source_without_any_kernel_judges_nothing(cli, port):
    answer = cli("run", "--module", "fill", "--runtime", "cpu", "--kernels", port("#if 0\n#endif\n"))
    assert answer.code == 2
    assert "define none of the 24 selected kernels" in answer.err


@pytest.mark.slow("whole runs by the command")
def test_specs_that_are_not_the_harness_own_leave_a_trace(cli, port, tmp_path):
    folder = tmp_path / "few"
    folder.mkdir()
    shutil.copy(SPEC_FOLDER / "unary.yaml", folder)
    record = tmp_path / "r.json"
    words = ("--runtime", "cpu", "--order", "forward", "--kernels", port(PORT), "--specs", folder, "--json", record)
    answer = cli("run", RIGHT, *words, "--fail-under", "0.5")
    assert answer.code == 0
    digest = load_specs(folder).digest
    given = f"of the given specs {shown(folder)}"
    assert f"1 of 123 kernels {given} (digest {digest}) at parity" in " ".join(answer.out.split())
    assert f"coverage 0.81% (1 of 123 kernels {given} (digest {digest})), gate 0.5%: met" in answer.out
    assert json.loads(record.read_text())["run"]["specs_digest"] == digest
    refused = cli("report", record)
    assert refused.code == 2
    assert "give those with --specs" in refused.err
    assert f"1 of 123 kernels {given}" in " ".join(cli("report", record, "--specs", folder).out.split())


def test_a_doctored_record_is_not_reported(cli, tmp_path):
    specs = load_specs()
    rows = [PASS.model_copy(update={"name": name, "module": "fill"}) for name in list(specs.kernels)[:24]]
    run = RunInfo(
        runtime="cpu",
        device="d",
        started="2026-01-02T03:04:05Z",
        seconds=1,
        upstream_commit=specs.upstream_commit,
        specs_digest=specs.digest,
    )
    write_record(Record.of(run, rows), tmp_path / "r.json")
    answer = cli("report", tmp_path / "r.json")
    assert (answer.code, answer.out) == (2, "")
    assert "the record lacks kernel" in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.slow("whole runs by the command")
def test_a_file_that_cannot_be_written_costs_neither_the_table_nor_the_other_files(cli, port, tmp_path):
    summary, full = tmp_path / "summary.md", "/dev/full"
    words = ("--runtime", "cpu", "--order", "forward", "--kernels", port(PORT), "--md", full, "--summary", summary)
    answer = cli("run", RIGHT, *words)
    assert answer.code == 2
    assert f"{full}: cannot be written" in answer.err
    assert "1 of 748 kernels at parity" in answer.out
    assert answer.kernel("uneg_f32")["status"] == "pass"
    assert summary.exists()


def test_a_declaration_that_does_not_hold_is_a_failure_of_the_run() -> None:
    """As a kernel that fails: it decides but where a gate alone does."""
    problem = "F: known_failures, row 1 ('k*'): k and its like, 2 in all, pass; remove it"
    for gate, strict, code in ((None, False, 1), (10, False, 0), (10, True, 1)):
        decision = decide([PASS], TOTAL, gate, strict, problems=[problem])
        assert (decision.code, problem in decision.why) == (code, True)
    assert "NOT met: --strict, and the port's declarations do not hold" in (decision.line or "")


def against(old: list[KernelResult], new: list[KernelResult]) -> Against:
    return Against("b.json", compare(record(*old), record(*new)))


SAME = against([PASS], [PASS])
WORSE = against([PASS, PASS.model_copy(update={"name": "k"})], [PASS, row("fail").model_copy(update={"name": "k"})])
NOTHING = against([PASS], [IDLE])
LESS = "NOT met: 1 kernel is worse than in the baseline"


@pytest.mark.parametrize(
    ("gate", "baseline", "strict", "code", "end"),
    [
        (None, SAME, False, 0, "baseline b.json: 0 worse and 0 better of 1 kernel compared: met"),
        (None, WORSE, False, 1, f"2 kernels compared: {LESS}"),
        (None, SAME, True, 1, "NOT met: --strict, and 1 of the selected kernels are not at parity"),
        (12.5, SAME, False, 0, "of 1 kernel compared: met"),
        (12.5, WORSE, False, 1, LESS),
        (99.0, SAME, False, 1, "NOT met: the coverage is below the gate"),
        (99.0, WORSE, True, 1, f"{LESS.replace('met:', 'met: the coverage is below the gate;')}"),
        (12.5, NOTHING, False, 2, "of 0 kernels compared: not decided"),
    ],
)
def test_with_a_baseline_nothing_may_become_worse(gate, baseline, strict, code, end):
    decision = decide([PASS, row("fail")], TOTAL, gate, strict, against=baseline)
    assert (decision.code, (decision.line or "").endswith(end)) == (code, True), decision.line


def test_no_gate_is_decided_for_a_shard():
    """It has part of the coverage, and may lie in a part of the kernels that the port does not have."""
    for rows, gate, strict, code in (
        ([PASS, row("fail")], 99.0, False, 0),
        ([PASS, row("fail")], 99.0, True, 1),
        ([PASS, row("fail")], None, False, 1),
        ([MISSING], None, False, 1),
        ([MISSING], 99.0, False, 0),
        ([GONE], 0.0, False, 2),
        ([IDLE], 0.0, False, 2),
    ):
        decision = decide(rows, TOTAL, gate, strict, shard="1/2")
        assert decision.code == code
        assert ("NOT met" in (decision.line or "")) == (strict and code == 1)
        if code == 0:
            assert "candle-parity report" in (decision.line or "")


def test_what_else_decides_stands_in_the_line():
    decision = decide([PASS], TOTAL, 1.0, undecided="a file could not be written")
    assert (decision.code, (decision.line or "").split("%: ")[-1]) == (2, "not decided: a file could not be written")
    decision = decide([PASS], TOTAL, 1.0, spoiled="a test of another kind failed")
    assert (decision.code, (decision.line or "").split("%: ")[-1]) == (1, "NOT met: a test of another kind failed")
    assert decide([PASS], TOTAL, undecided="a file could not be written").code == 2
