"""``run --watch``: a verdict after each change of the port's files, until Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.cli.watch import Watched
from conformance.engine.modes import Tree
from conformance.port.options import BuildOptions
from tests.commands import refused

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 120.0
"""Seconds until a test gives up; nothing takes that long unless it is broken."""

FILL = """#include "value.h"
extern "C" __global__ void fill_u8(unsigned char *buf, unsigned char value, size_t numel) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < numel; i += (size_t)blockDim.x * gridDim.x)
    buf[i] = VALUE;
}
"""
RIGHT, WRONG = "#define VALUE value\n", "#define VALUE value + 1\n"
CASE = "fill_u8(shape=[31],value=pattern)"


class Watching:
    """The command at work: ``said()`` is what it has printed since the last call that found what it waited for."""

    def __init__(self, folder: Path, *words: object) -> None:
        self._output = folder / "output"
        with open(self._output, "wb") as output:
            command = [sys.executable, "-m", "conformance", "run", CASE, "--runtime", "cpu", "--watch"]
            self.process = subprocess.Popen(
                [*command, *map(str, words)],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=output,
                stderr=output,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
            )
        self._read = 0

    def said(self, words: str) -> str:
        """What was printed up to ``words``, waited for."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and self.process.poll() is None:
            text = self._output.read_text(errors="replace")[self._read :]
            if words in text:
                self._read += text.index(words) + len(words)
                return text[: text.index(words)]
            time.sleep(0.05)
        raise AssertionError(f"no {words!r} in {self._output.read_text()[self._read :]!r}")

    def verdict(self) -> str:
        """All of the next verdict."""
        return self.said("Ctrl-C ends\n")


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Callable[..., Watching]]:
    made: list[Watching] = []

    def make(*words: object) -> Watching:
        made.append(Watching(tmp_path, *words))
        return made[-1]

    yield make
    for one in made:
        one.process.kill()
        one.process.wait()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A port of one file, whose header lies outside of it."""
    for name, text in {"port/fill.hip": FILL, "headers/value.h": RIGHT}.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return tmp_path / "port"


@pytest.mark.nightly("seven verdicts, each by a process of its own")
def test_each_change_is_judged_and_a_broken_file_ends_nothing(watching: Callable[..., Watching], tree: Path) -> None:
    header = tree.parent / "headers" / "value.h"
    record = tree / "record.json"  # what a run writes is no change
    run = watching("--kernels", tree, "-I", header.parent, "--json", record)
    assert "1 pass" in run.verdict()
    header.write_text(WRONG)
    found = run.verdict()
    assert "candle-parity: 1 file changed: headers/value.h\n" in found
    assert found.index(f"  {CASE}\n") < found.index("1 fail") < found.index("1 cause")
    (tree / "fill.hip").write_text(FILL + "broken\n")
    found = run.verdict()
    assert "1 file changed: fill.hip\n" in found
    assert found.index("error: ") < found.index("1 compile_error")
    (tree / "fill.hip").write_text(FILL)
    assert "1 fail" in run.verdict()
    (tree / "candle-parity.toml").write_text("kernel = 1\n")
    assert "unknown key 'kernel'" in run.verdict()
    (tree / "candle-parity.toml").unlink()
    (tree / "new").mkdir()
    assert "1 fail" in run.verdict()
    (tree / "new" / "other.h").write_text("")
    assert "1 file changed: new/other.h\n" in run.verdict()
    new = tree / "fill.new"  # as editors write: a new file takes the name
    new.write_text(FILL.replace("VALUE", "value"))
    new.rename(tree / "fill.hip")
    assert "1 pass" in run.verdict()
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(LIMIT) == 130
    assert record.exists()


@pytest.mark.slow("a kernel that does not end, and the start of three processes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_change_or_a_signal_ends_the_run(watching: Callable[..., Watching], tree: Path, number: int) -> None:
    endless = FILL.replace("VALUE;", "value; for (volatile int spin = 1; spin;) {}")
    header = tree.parent / "headers" / "value.h"
    (tree / "fill.hip").write_text(endless)
    run = watching("--kernels", tree, "-I", header.parent)
    end = time.monotonic() + LIMIT
    while not (below := _below(run.process.pid)) and time.monotonic() < end:
        time.sleep(0.05)
    run.process.send_signal(number)
    assert run.process.wait(LIMIT) == {signal.SIGINT: 130, signal.SIGTERM: 143}.get(number, -number)
    while any(map(_runs, below)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(_runs, below))


def _below(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_what_is_watched(tree: Path) -> None:
    headers, inner = tree.parent / "headers", tree / "inner"
    inner.mkdir()
    (tree / ".git").mkdir()
    watched = Watched.of(Tree.at(tree, BuildOptions(include_dirs=(headers,))), None)
    assert watched.folders == {tree, inner, headers, tree.parent}
    assert all(
        map(watched.has, (tree / "any.h", inner / "x.h", headers / "value.h", tree.parent / "candle-parity.toml"))
    )
    assert not any(map(watched.has, (headers / "other.h", tree.parent / "notes.txt", tree / ".any.h.swp")))
    file = Watched.of(Tree.at(tree / "fill.hip", BuildOptions(include_dirs=(headers,))), None)
    assert file.has(tree / "fill.hip")
    assert not file.has(tree / "other.hip")


def test_without_the_package_a_sentence_says_what_to_install(cli, tree: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    refused(cli("run", "fill_u8", "--watch", "--kernels", tree), "watchfiles", "pip install 'watchfiles>=1.0'")


def test_one_record_on_standard_output_and_many_verdicts_do_not_go_together(cli, tree: Path) -> None:
    said = cli("run", "fill_u8", "--watch", "--kernels", tree, "--json", "-")
    assert (said.code, "name a file for it" in said.err) == (2, True)
    refused(cli("run", "fill_u8", "--watch", "--kernels", tree / "absent"), "absent")
