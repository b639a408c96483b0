"""``pytest`` at the root: the parity matrix, an item per kernel."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conformance.cli.main import main
from conformance.pytest_items import screen_of
from conformance.text import LOG, Screen

ROOT = Path(__file__).resolve().parents[2]
BAD_FILL = """#include <hip/hip_runtime.h>
extern "C" __global__ void fill_u8(unsigned char *buf, unsigned char value, size_t numel) { buf[0] = value; }
"""
GOOD_FILL = """
extern "C" __global__ void fill_u32(unsigned *buf, unsigned value, size_t numel) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < numel; i += (size_t)blockDim.x * gridDim.x)
    buf[i] = value;
}
"""


def pytest_says(*words: object, folder: Path = ROOT) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *map(str, words)]
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(("terminal", "expected"), [(True, Screen(72)), (False, LOG)])
def test_the_table_is_as_wide_as_the_terminal(monkeypatch, request, terminal, expected):
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    monkeypatch.setattr(reporter, "isatty", terminal)
    monkeypatch.setattr(request.config.get_terminal_writer(), "fullwidth", 72)
    assert screen_of(reporter) == expected


@pytest.mark.slow("whole runs by the command")
def test_an_item_per_kernel_and_the_table(tmp_path):
    code, out = pytest_says("specs/fill.yaml", "--parity-json", tmp_path / "r.json")
    assert code == 0
    assert "24 passed" in out
    assert "24 of 748 kernels at parity" in out
    assert json.loads((tmp_path / "r.json").read_text())["summary"]["pass"] == 24


@pytest.mark.nightly("whole runs by the command")
def test_cases_without_a_part_in_the_verdict_are_asked_for(tmp_path):
    words = ("specs/fill.yaml", "-v", "-k", "const_set_u8", "--parity-json", tmp_path / "r.json")
    found = []
    for more in ((), ("--parity-all-cases",)):
        code, out = pytest_says(*words, *more)
        (row,) = [row for row in json.loads((tmp_path / "r.json").read_text())["kernels"] if row["status"] == "pass"]
        assert (code, "were not run" in out) == (0, not more)
        found.append((row["unasked"], row["robustness"]))
    (left_out, nothing), (none, run) = found
    assert (nothing, none, run["planned"]) == (None, 0, left_out)


@pytest.mark.nightly("whole runs by the command")
def test_spread_over_workers():
    code, out = pytest_says("specs/fill.yaml", "-n", "2")
    assert code == 0
    assert "24 of 748 kernels at parity" in out


@pytest.mark.nightly("whole runs by the command")
def test_the_gate():
    assert pytest_says("specs/fill.yaml", "-k", "fill_f32", "--parity-fail-under", "0.1")[0] == 0
    code, out = pytest_says("specs/fill.yaml", "-k", "fill_f32", "--parity-fail-under", "50")
    assert code == 1
    assert "gate 50%: NOT met" in out


@pytest.mark.nightly("whole runs by the command")
def test_a_failing_item_shows_the_reproducing_command_and_a_missing_one_is_skipped(tmp_path):
    (tmp_path / "fill.hip").write_text(BAD_FILL)
    code, out = pytest_says("specs/fill.yaml", "-k", "fill_u8 or fill_f32", "--parity-kernels", tmp_path)
    assert code == 1
    assert "candle-parity run --runtime cpu" in out
    assert "fill_u8(" in out
    assert "1 failed, 1 skipped" in out.replace(", 22 deselected", "")


@pytest.mark.nightly("whole runs by the command")
def test_with_a_gate_the_gate_alone_decides(tmp_path):
    (tmp_path / "fill.hip").write_text(BAD_FILL + GOOD_FILL)
    words = ("specs/fill.yaml", "-k", "fill_u8 or fill_u32 or fill_f32", "--parity-kernels", tmp_path)
    code, out = pytest_says(*words, "--parity-fail-under", "0.1")
    assert code == 0
    assert (
        "the gate is met, though kernels fail (1, shown as xfailed); --parity-strict makes a failure exit code 1" in out
    )
    assert summary(out) == {"passed": 1, "skipped": 1, "xfailed": 1}
    assert "gate 0.1%: met" in out
    for gate in (("0.1", "--parity-strict"), ("5",)):
        code, out = pytest_says(*words, "--parity-fail-under", *gate)
        assert code == 1
        assert summary(out) == {"passed": 1, "skipped": 1, "failed": 1}
        assert "candle-parity run --runtime cpu" in out  # as for a failure without a gate


def summary(out: str) -> dict[str, int]:
    """How many items pytest counts in its last line, but for those that were not selected."""
    counts = re.findall(r"(\d+) (passed|failed|skipped|xfailed|error)", out.strip().splitlines()[-1])
    return {what: int(count) for count, what in counts}


@pytest.mark.nightly("whole runs by the command")
def test_summary_junit_and_exit_code_say_the_same(tmp_path):
    """Below the gate for what is missing: the verdict has failed, and no kernel. Ours and pytest's JUnit agree."""
    (tmp_path / "fill.hip").write_text(BAD_FILL + GOOD_FILL)
    base, junit = tmp_path / "base.json", tmp_path / "junit.xml"
    kernels = ("fill_u8", "fill_u32", "fill_f32")
    words = ("specs/fill.yaml", "-k", " or ".join(kernels), "--parity-kernels", tmp_path, "--junit-xml", junit)
    run = ("run", *kernels, "--kernels", str(tmp_path), "--runtime", "cpu", "-q", "--junit", str(tmp_path / "ours.xml"))
    assert main([*run, "--json", str(base)]) == 1

    def kinds(file: Path) -> set[str]:
        cases = [one for one in ElementTree.parse(file).iter("testcase") if one.get("name") in (*kernels, "verdict")]
        return {f"{one.get('name')} {inner.tag}" for one in cases for inner in one}

    allowed = {"fill_u8 skipped", "fill_f32 skipped"}
    for gate, code, said in (
        ((), 1, {"fill_u8 failure", "fill_f32 skipped"}),
        (("fail-under", "0.1"), 0, allowed),
        (("fail-under", "5"), 1, {"fill_u8 failure", "fill_f32 skipped"}),
        (("baseline", base), 0, allowed),
        (("baseline", base, "fail-under", "5"), 1, allowed | {"verdict failure"}),
    ):
        options = [str(word) if at % 2 else f"--{word}" for at, word in enumerate(gate)]
        assert main([*run, *options]) == code
        assert kinds(tmp_path / "ours.xml") == said
        answer, out = pytest_says(*words, *(word.replace("--", "--parity-", 1) for word in options))
        assert answer == code
        assert kinds(junit) == said or (gate[:1] == ("fail-under",) and code and said < kinds(junit))
        assert ("failed" in summary(out)) == bool(code)


@pytest.mark.nightly("whole runs by the command")
def test_the_verdict_that_is_printed_is_that_of_the_exit_code(tmp_path):
    """A baseline; a test of another kind that fails; a run that ends before all items; a percentage that is none."""
    (tmp_path / "fill.hip").write_text(BAD_FILL + GOOD_FILL)
    base = tmp_path / "base.json"
    words = ("specs/fill.yaml", "-k", "fill_u8 or fill_u32", "--parity-kernels", tmp_path)
    assert pytest_says(*words, "--parity-json", base)[0] == 1
    code, out = pytest_says(*words, "--parity-baseline", base)
    assert code == 0
    assert "0 worse and 0 better of 2 kernels compared: met" in out
    (tmp_path / "test_other.py").write_text("def test_fill_u32_other():\n    assert False\n")
    code, out = pytest_says(*words, tmp_path / "test_other.py", "--parity-baseline", base)
    assert code == 1
    assert "compared: NOT met: a test that judges no kernel failed" in out
    (tmp_path / "test_other.py").write_text("def test_fill_u32_other():\n    raise KeyboardInterrupt\n")
    code, out = pytest_says(tmp_path / "test_other.py", *words, "--parity-fail-under", "0.1")
    assert code == 2
    assert "gate 0.1%: not decided" in out
    (tmp_path / "fill.hip").write_text(BAD_FILL + GOOD_FILL.replace("= value", "= value + 1"))
    code, out = pytest_says(*words, "--parity-baseline", base)
    assert code == 1
    assert summary(out) == {"failed": 1, "xfailed": 1}
    assert "compared: NOT met: 1 kernel is worse than in the baseline" in out
    code, out = pytest_says(*words, "--parity-baseline", tmp_path / "absent.json")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "there is no such baseline" in out


@pytest.mark.slow("whole runs by the command")
@pytest.mark.parametrize("text", ["nan", "101", "many"])
def test_a_gate_that_is_not_a_percentage(text):
    code, out = pytest_says("specs/fill.yaml", "--parity-fail-under", text)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert f"{text!r} is not a percentage (0 to 100)" in out


@pytest.mark.slow("whole runs by the command")
def test_the_gate_of_the_ports_file_is_for_all_kernels(tmp_path):
    (tmp_path / "fill.hip").write_text(GOOD_FILL)
    (tmp_path / "candle-parity.toml").write_text("[gate]\nfail_under = 50\n")
    words = ("specs/fill.yaml", "--parity-kernels", tmp_path, "-k")
    code, out = pytest_says(*words, "fill_u32")
    assert code == 0
    assert "gate 50%" not in out
    assert pytest_says(*words, "fill_u32", "--parity-fail-under", "50")[0] == 1


@pytest.mark.nightly("whole runs by the command")
def test_a_tree_that_defines_none_of_the_kernels_judges_nothing(tmp_path):
    (tmp_path / "fill.hip").write_text("#include <hip/hip_runtime.h>\n")
    for gate in ((), ("--parity-fail-under", "0")):
        code, out = pytest_says("specs/fill.yaml", "-k", "fill_u8", "--parity-kernels", tmp_path, *gate)
        assert code == 2
        assert "nothing was judged" in out


@pytest.mark.slow("runs the command several times")
def test_a_bad_path_is_one_sentence_of_bad_usage():
    code, out = pytest_says("specs/fill.yaml", "-k", "fill_f32", "--parity-kernels", "/nowhere")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "kernels path /nowhere does not exist" in out
    assert "Traceback" not in out


SLOW_TO_COMPILE = (
    "constexpr unsigned spin(unsigned n) { unsigned s = 0; while (n) s = s * 3 + n--; return s; }\n"
    + "".join(f"static_assert(spin({turns}) != 1);\n" for turns in range(300_000, 300_010))
)


@pytest.mark.nightly("whole runs by the command")
def test_a_compilation_longer_than_a_launch_may_take_is_no_time_out(tmp_path, monkeypatch):
    """The compiler computes for seconds what the source asserts; a launch has half a second."""
    source = tmp_path / "fill.hip"
    source.write_text(f"#include <hip/hip_runtime.h>\n{SLOW_TO_COMPILE}\n{GOOD_FILL}")
    monkeypatch.setenv("CANDLE_PARITY_HANG_SECONDS", "0.5")
    code, out = pytest_says("specs/fill.yaml", "-k", "fill_u32", "--parity-kernels", tmp_path)
    assert "1 passed" in out
    assert code == 0


@pytest.mark.slow("whole runs by the command")
def test_the_compiler_is_for_the_rocm_runtime():
    words = ("specs/fill.yaml", "-k", "fill_f32", "--parity-runtime", "cpu", "--parity-compiler", "hipcc")
    code, out = pytest_says(*words)
    assert code == 2
    assert "--compiler hipcc is for the rocm runtime" in out
    assert "Traceback" not in out


@pytest.mark.slow("whole runs by the command")
def test_tests_of_the_harness_alone_do_not_pass_for_a_trial_of_kernels(tmp_path):
    (tmp_path / "fill.hip").write_text(GOOD_FILL)
    code, out = pytest_says("tests/verdict", "-k", "nan", "--parity-kernels", tmp_path, "--parity-runtime", "cpu")
    assert "passed" in out
    assert "specs/" not in out
    assert code == 2


@pytest.mark.nightly("whole runs by the command")
def test_what_a_port_declares_counts_for_items_too(tmp_path):
    """A file that names the tree; its known failure is skipped with the reason, and is an error once it passes."""
    (tmp_path / "fill.hip").write_text(BAD_FILL + GOOD_FILL.replace("fill_u32", "own_u32"))
    config = tmp_path / "port.toml"
    names = '[names]\n"fill_u32" = "own_u32"\n'
    known = '[[known_failures]]\nkernels = "fill_u8"\nreason = "one element"\n'
    config.write_text(f'kernels = "."\n{names}{known}')
    words = ("specs/fill.yaml", "-k", "fill_u8 or fill_u32", "--parity-config", config, "-rs")
    code, out = pytest_says(*words)
    assert code == 0, out
    assert "1 passed, 1 skipped" in out
    assert "fail, known: one element" in out
    config.write_text(config.read_text().replace('"fill_u8"', '"fill_u32"'))
    code, out = pytest_says(*words)
    assert code == 1
    assert "known_failures, row 1 ('fill_u32'): fill_u32 passes; remove it" in out
    config.write_text("kernel = 3")
    assert "--parity-config: " in pytest_says(*words)[1]


@pytest.mark.nightly("whole runs by the command")
def test_elsewhere_the_file_in_the_working_directory_names_the_port(tmp_path):
    """As for ``candle-parity run``; where it names none there is nothing to judge, whatever else passes."""
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    (tmp_path / "port").mkdir()
    (tmp_path / "port/fill.hip").write_text(GOOD_FILL)
    config = tmp_path / "candle-parity.toml"
    config.write_text('kernels = "port"\n')
    words = ("--parity-runtime", "cpu", "-k", "fill_u32")
    code, out = pytest_says(*words, folder=tmp_path)
    assert code == 0, out
    assert "1 of 748 kernels at parity" in out
    config.write_text('kernels = "no/port"\n')
    code, out = pytest_says(*words, folder=tmp_path)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "candle-parity.toml: kernels: kernels path " in out
    config.write_text("defines = []\n")
    for option in ((), ("--parity-config", config)):
        code, out = pytest_says("--parity-runtime", "cpu", *option, folder=tmp_path)
        assert code == 2
        assert 'no port is named that could be judged; give --parity-kernels PATH, or add kernels = "PATH" to ' in out


@pytest.mark.nightly("whole runs by the command")
def test_a_file_that_names_no_tree_is_not_green_where_nothing_is_judged(tmp_path):
    config = tmp_path / "port.toml"
    config.write_text("defines = []\n")
    code, out = pytest_says("tests/verdict", "-k", "nan", "--parity-config", config, "--parity-runtime", "cpu")
    assert "passed" in out
    assert code == 2
