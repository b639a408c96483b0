"""How a process ends: the exit code is the gate's whatever the streams are, and a signal has its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.cli.commands import list as listing
from conformance.cli.ending import Stopped, sentence
from conformance.cli.main import main
from conformance.processes import InfrastructureError

COMMAND = [sys.executable, "-m", "conformance.cli.main"]
ROOT = Path(__file__).resolve().parents[2]

# What main() does is what is tested; the command itself is as short as one can be.
SAYS = """
import sys, time
from conformance.cli import main
from conformance.cli.commands import list as listing
def command(arguments):
    print("a table \\u2705 of the run\\n" * {lines})
    print("and a warning \\u2705", file=sys.stderr)
    {then}
    return 1
listing.command = command
sys.exit(main.main(["list"]))
"""


def says(lines: int = 1, then: str = "pass") -> list[str]:
    return [sys.executable, "-c", SAYS.format(lines=lines, then=then)]


def shell(
    redirected: str, *, lines: int = 1, then: str = "pass", **variables: str
) -> subprocess.CompletedProcess[bytes]:
    """``COMMAND redirected`` in bash; the exit code is that of the command, not of what it is piped into."""
    script = f'"$@" {redirected}; exit ${{PIPESTATUS[0]}}'
    return subprocess.run(
        ["bash", "-c", script, "bash", *says(lines, then)],
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, **variables},
        timeout=120,
        check=False,
    )


@pytest.mark.nightly("whole runs by the command")
@pytest.mark.parametrize(
    ("redirected", "lines"),
    [
        ("| true", 1),
        ("2>&1 | true", 20_000),
        ("| head -c 5", 20_000),
        (">&-", 1),
        ("2>&-", 1),
        ("<&- >&- 2>&-", 20_000),
    ],
)
def test_the_exit_code_does_not_depend_on_who_reads(redirected: str, lines: int) -> None:
    done = shell(redirected, lines=lines)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.slow("whole runs by the command")
def test_a_gate_that_is_not_met_stays_red_in_a_pipe() -> None:
    words = ["run", "fill_u8(shape=[3],value=pattern)", "--runtime", "cpu", "--fail-under", "100"]
    script = '"$@" | true; exit ${PIPESTATUS[0]}'
    done = subprocess.run(
        ["bash", "-c", script, "bash", *COMMAND, *words], capture_output=True, cwd=ROOT, timeout=300, check=False
    )
    assert done.returncode == 1, done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.slow("runs the command for each row")
def test_a_file_opened_later_does_not_take_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    then = f"import os; os.write(os.open({str(tmp_path / 'file')!r}, os.O_CREAT | os.O_WRONLY), b'content')"
    done = shell("<&- >&- 2>&-", then=then)
    assert done.returncode == 1
    assert (tmp_path / "file").read_bytes() == b"content"


@pytest.mark.slow("runs the command for each row")
def test_output_that_a_full_disk_loses_is_said() -> None:
    done = shell("> /dev/full", lines=20_000)
    assert done.returncode == 2
    assert b"standard output: cannot be written (No space left on device); the exit code would be 1" in done.stderr


@pytest.mark.parametrize(
    "variables",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
@pytest.mark.slow("runs the command for each row")
def test_a_locale_without_the_characters_ends_no_run(variables: dict[str, str]) -> None:
    done = shell("", **variables)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"a table" in done.stdout
    assert b"and a warning" in done.stderr


@pytest.mark.slow("runs the command for each row")
def test_commands_read_their_files_in_such_a_locale(tmp_path: Path) -> None:
    (tmp_path / "unary.hip").write_text('// caf\u00e9\nextern "C" __global__ void uneg_f32(float *out) {}\n')
    (tmp_path / "candle-parity.toml").write_text('# caf\u00e9\ndefines = ["A=\u00e9"]\n', encoding="utf-8")
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = [*COMMAND, "check", "--module", "unary", "--kernels", str(tmp_path), "--json", str(tmp_path / "check.json")]
    done = subprocess.run(words, capture_output=True, cwd=ROOT, env=env, timeout=300, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (1, False), done.stderr
    assert "uneg_f32" in json.dumps(json.loads((tmp_path / "check.json").read_text()))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
@pytest.mark.slow("runs the command for each row")
def test_a_signal_ends_a_command_with_its_own_code_and_cleans_up(number: int, code: int, tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    then = f"""import tempfile
    with tempfile.TemporaryDirectory(dir={str(tmp_path)!r}) as name:
        open({str(folder)!r}, "w").close()
        time.sleep(100)"""
    before = signal.signal(number, signal.SIG_DFL)  # who runs the tests may ignore it, as nohup does
    try:
        process = subprocess.Popen(
            says(then=then), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    finally:
        signal.signal(number, before)
    with process:
        while not folder.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert err.decode().splitlines()[-1].startswith("candle-parity: stopped by ")
    assert b"Traceback" not in err
    assert os.listdir(tmp_path) == ["scratch"]


def test_a_signal_that_the_parent_ignores_stays_ignored(monkeypatch) -> None:
    def command(_: object) -> int:
        os.kill(os.getpid(), signal.SIGHUP)
        return 5

    monkeypatch.setattr(listing, "command", command)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert main(["list"]) == 5
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_nothing_that_handles_errors_keeps_a_signal(monkeypatch, capsys) -> None:
    def command(_: object) -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except Exception:
            return 0
        return 0

    monkeypatch.setattr(listing, "command", command)
    assert main(["list"]) == 143
    assert capsys.readouterr().err == "candle-parity: stopped by SIGTERM\n"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert not issubclass(Stopped, Exception)


def raiser(error: BaseException):
    def command(_: object) -> int:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError("Unable to allocate 9 TiB"), ["not enough memory (Unable to allocate 9 TiB)"]),
        (MemoryError(), ["not enough memory"]),
        (RecursionError("maximum depth"), ["nested too deep"]),
        (
            KeyError("x"),
            ["a defect of candle-parity: KeyError ('x')", "tests/cli/test_endings.py:", "CANDLE_PARITY_DEBUG"],
        ),
        (AssertionError(), ["a defect of candle-parity: AssertionError at tests/cli/test_endings.py:"]),
        (PermissionError(13, "Permission denied", "some/file"), ["some/file: Permission denied"]),
        (OSError(28, "No space left on device", "a", None, "b"), ["a -> b: No space left on device"]),
        (OSError(28, "No space left on device"), ["No space left on device", "tests/cli/test_endings.py:"]),
    ],
)
def test_any_exception_is_a_sentence_and_2(error: Exception, words: list[str], monkeypatch, capsys) -> None:
    monkeypatch.setattr(listing, "command", raiser(error))
    monkeypatch.delenv("CANDLE_PARITY_DEBUG", raising=False)
    assert main(["list"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("candle-parity: ")
    assert said.count("\n") == 1
    for word in words:
        assert word in said


def test_the_traceback_of_a_defect_is_there_for_the_asking(monkeypatch, capsys) -> None:
    monkeypatch.setattr(listing, "command", raiser(KeyError("x")))
    monkeypatch.setenv("CANDLE_PARITY_DEBUG", "1")
    assert main(["list"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_nul_in_an_argument(capsys) -> None:
    assert main(["list", "u\0"]) == 2
    assert "NUL" in capsys.readouterr().err


def test_what_is_wrong_with_the_machine_is_said_as_it_is():
    assert sentence(InfrastructureError("no folder can be written")) == "no folder can be written"
