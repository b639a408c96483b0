"""An installation in an empty environment, used from an empty folder with an empty home."""

from __future__ import annotations

import importlib.util
import json
import shlex
from pathlib import Path

import pytest

from tests.commands import without_progress
from tests.installation.environment import Installation

PORT = """#include <hip/hip_runtime.h>
extern "C" __global__ void uneg_f32(size_t numel, size_t dims, const size_t *info, const float *inp, float *out) {
  bool contiguous = true;
  size_t expected = 1;
  for (size_t d = dims; info && d-- > 0; expected *= info[d])
    contiguous = contiguous && (info[dims + d] == expected || info[d] == 1);
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x) {
    size_t at = 0, rest = i;
    for (size_t d = dims; info && d-- > 0; rest /= info[d]) at += rest % info[d] * info[dims + d];
    float x = inp ? inp[contiguous ? i : at] : out[i];
    out[i] = SIGN x;
  }
}
"""
IDLE = "import pathlib, sys\n\ndef test_own():\n    heavy = {'numpy', 'pydantic', 'yaml', 'conformance.pytest_items'}\n"
IDLE += "    pathlib.Path('loaded').write_text(' '.join(sorted(heavy & set(sys.modules))))\n"


@pytest.fixture
def port(tmp_path: Path) -> Path:
    """A folder of kernels in the working folder, named as the harness's own are."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "unary.hip").write_text(PORT.replace("SIGN", "-"))
    return tmp_path / "kernels"


@pytest.mark.slow("builds and installs the wheel")
def test_run_and_report(installation: Installation, tmp_path: Path) -> None:
    (tmp_path / "conformance").mkdir()  # a port may have a folder of any name
    (tmp_path / "conformance" / "__init__.py").write_text("raise SystemExit('not ours')\n")
    words = ("run", "uexp_f*", "--runtime", "cpu", "--json", "record.json")
    refused = installation.says(tmp_path, "candle-parity", *words)
    assert (refused.returncode, "no port is named" in refused.stderr) == (2, True)
    run = installation.says(tmp_path, "candle-parity", *words, "--kernels", "shipped")
    assert (run.returncode, without_progress(run.stderr)) == (0, "")
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["summary"]["total"] == 748
    assert record["summary"]["pass"] == len([row for row in record["kernels"] if row["name"].startswith("uexp_f")])
    assert record["run"]["kernels"] == "the shipped kernels"
    assert run.stdout.startswith("candle-parity judges the shipped kernels (14 files, in no commit)\n")
    assert str(installation.environment) not in run.stdout + (tmp_path / "record.json").read_text()
    assert [path.name for path in (installation.home / ".cache").iterdir()] == ["candle-parity"]
    assert (installation.cache / "objects").is_dir()
    (shipped,) = installation.packages.glob("conformance/_data/runtime/*/libhiprtc.so")
    (used,) = installation.cache.glob("runtime/*/libhiprtc.so")
    assert used.read_bytes() == shipped.read_bytes()
    report = installation.says(tmp_path, "candle-parity", "report", "record.json", "--md", "r.md", "--html", "r.html")
    assert (report.returncode, without_progress(report.stderr)) == (0, "")
    assert "not executed on an AMD GPU" in (tmp_path / "r.md").read_text()
    assert str(installation.environment) not in (tmp_path / "r.md").read_text() + (tmp_path / "r.html").read_text()


@pytest.mark.slow("builds and installs the wheel")
def test_check(installation: Installation, tmp_path: Path) -> None:
    check = installation.says(tmp_path, "candle-parity", "check", "--kernels", "shipped", "--json", "check.json")
    assert (check.returncode, without_progress(check.stderr)) == (0, "")
    told = json.loads((tmp_path / "check.json").read_text())
    assert (told["kernels"], told["summary"]["defined"]) == ("the shipped kernels", 748)


@pytest.mark.slow("builds and installs the wheel")
@pytest.mark.parametrize("subject", ["kernels", "reference"])
def test_replay_of_the_shipped_traces(installation: Installation, tmp_path: Path, subject: str) -> None:
    words = ("replay", "--module", "fill", "--subject", subject, "--runtime", "cpu", "--json", "record.json")
    words += ("--kernels", "shipped") if subject == "kernels" else ()
    replay = installation.says(tmp_path, "candle-parity", *words)
    assert (replay.returncode, without_progress(replay.stderr)) == (0, "")
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["summary"]["pass"] == 24
    assert record["run"]["traces"] == "the shipped traces"


@pytest.mark.slow("builds and installs the wheel")
def test_the_command_that_reproduces_a_failure(installation: Installation, tmp_path: Path, port: Path) -> None:
    (port / "unary.hip").write_text(PORT.replace("SIGN", "+"))
    words = ("run", "uneg_f32", "--kernels", "kernels", "--runtime", "cpu", "--json", "record.json")
    run = installation.says(tmp_path, "candle-parity", *words)
    assert run.returncode == 1
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["run"]["kernels"] == "./kernels"
    failure = next(row for row in record["kernels"] if row["name"] == "uneg_f32")["failures"][0]
    again = installation.says(tmp_path, *shlex.split(failure["reproduce"]))
    assert again.returncode == 1
    assert failure["case"] in again.stdout


@pytest.mark.slow("builds and installs the wheel")
def test_pytest_has_an_item_per_kernel(installation: Installation, tmp_path: Path, port: Path) -> None:
    run = installation.says(
        tmp_path, "python", "-m", "pytest", "--parity-kernels", port, "--parity-runtime", "cpu", "-k", "uneg_f32"
    )
    assert run.returncode == 0, run.stdout
    assert "1 passed, 747 deselected" in run.stdout
    assert "1 of 748 kernels at parity" in run.stdout
    assert "specs/unary.yaml" in run.stdout
    listed = installation.says(tmp_path, "python", "-m", "pytest", "--parity-kernels", port, "--collect-only", "-q")
    assert "specs/unary.yaml::uneg_f32" in listed.stdout
    assert "748 tests collected" in listed.stdout


@pytest.mark.slow("builds and installs the wheel")
def test_a_bare_pytest_has_the_kernels_of_a_declared_port(
    installation: Installation, tmp_path: Path, port: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.candle-parity]\nkernels = "kernels"\nruntime = "cpu"\n')
    listed = installation.says(tmp_path, "python", "-m", "pytest", "--collect-only", "-q")
    assert listed.returncode == 0, listed.stdout
    assert "pyproject.toml::unary::uneg_f32" in listed.stdout
    assert "748 tests collected" in listed.stdout
    run = installation.says(tmp_path, "python", "-m", "pytest", "pyproject.toml::unary::uneg_f32")
    assert run.returncode == 0, run.stdout
    assert "1 of 748 kernels at parity" in run.stdout


@pytest.mark.slow("builds and installs the wheel")
def test_pytest_does_not_pass_where_no_kernel_was_judged(
    installation: Installation, tmp_path: Path, port: Path
) -> None:
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    words = ("python", "-m", "pytest", "--parity-kernels", port, "--parity-runtime", "cpu")
    run = installation.says(tmp_path, *words, "-k", "test_own")
    assert run.returncode == 2, run.stdout
    assert "1 passed" in run.stdout
    assert "nothing was judged" in run.stdout
    run = installation.says(tmp_path, *words, "-k", "no_such_kernel")
    assert run.returncode == 2, run.stdout


def assert_idle(installation: Installation, folder: Path, *options: str) -> None:
    """The plugin imports nothing heavy that other plugins of this machine do not import without it."""
    words = ("python", "-m", "pytest", "-p", "no:cacheprovider")
    without = installation.says(folder, *words, "-p", "no:conformance.pytest_plugin", "--noconftest")
    assert without.returncode == 0, without.stdout
    others = (folder / "loaded").read_text()
    run = installation.says(folder, *words, *options)
    assert run.returncode == 0, run.stdout
    assert "1 passed" in run.stdout
    assert "parity" not in run.stdout.splitlines()[-1]
    assert (folder / "loaded").read_text() == others


@pytest.mark.slow("builds and installs the wheel")
def test_the_plugin_does_nothing_in_other_runs(installation: Installation, tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(IDLE)
    (tmp_path / "unary.yaml").write_text("not: a spec\n")
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["candle-parity"]\n')
    assert_idle(installation, tmp_path)
    assert "--parity-kernels" in installation.says(tmp_path, "python", "-m", "pytest", "--help").stdout


@pytest.mark.slow("builds and installs the wheel")
def test_asking_for_the_plugin_by_name_too_is_no_error(installation: Installation, tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(IDLE)
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["conformance.pytest_plugin"]\n')
    assert_idle(installation, tmp_path, "-p", "conformance.pytest_plugin")


@pytest.mark.slow("builds and installs the wheel")
@pytest.mark.parametrize("words", [["new", "uexp2_f32", "--like", "uexp_f32", "--write"]])
def test_commands_that_edit_specs_need_a_copy(installation: Installation, tmp_path: Path, words: list[str]) -> None:
    run = installation.says(tmp_path, "candle-parity", *words)
    assert run.returncode == 2
    assert "--write does not change an installation" in run.stderr
    assert installation.says(tmp_path, "candle-parity", *words[:-1]).returncode == 0


@pytest.mark.slow("starts installed commands")
def test_the_module_and_the_version(installation: Installation, tmp_path: Path) -> None:
    told = installation.says(tmp_path, "candle-parity", "--version")
    assert told.returncode == 0
    name, version = told.stdout.split()[:2]
    assert name == "candle-parity"
    (about,) = installation.packages.glob("candle_parity-*.dist-info")
    assert about.name == f"candle_parity-{version}.dist-info"
    assert installation.says(tmp_path, "python", "-m", "conformance", "--version").stdout == told.stdout


@pytest.mark.slow("starts installed commands")
@pytest.mark.skipif(importlib.util.find_spec("argcomplete") is None, reason="argcomplete is not installed")
@pytest.mark.parametrize(("line", "expected"), [("re", {"record", "replay", "report"}), ("run uexp_f3", {"uexp_f32"})])
def test_completion(installation: Installation, tmp_path: Path, line: str, expected: set[str]) -> None:
    typed = f"candle-parity {line}"
    variables = {"_ARGCOMPLETE": "1", "COMP_LINE": typed, "COMP_POINT": str(len(typed)), "_ARGCOMPLETE_IFS": " "}
    done = installation.says(tmp_path, "candle-parity", **variables, _ARGCOMPLETE_STDOUT_FILENAME=str(tmp_path / "out"))
    assert done.returncode == 0
    assert {word.strip() for word in (tmp_path / "out").read_text().split()} == expected
