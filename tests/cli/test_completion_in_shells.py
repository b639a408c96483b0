"""Completion in the shells themselves, where they are installed: commands, options and kernels."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("argcomplete", reason="argcomplete is not installed")

PROGRAM = Path(sys.executable).with_name("candle-parity")
SECONDS = 120
"""After which a shell that says nothing counts as hanging."""

_ZSH = """shown() { zle -I; print -r -- "<""<$BUFFER>"">"; BUFFER= }; zle -N shown; bindkey '^X' shown
eval "$LINES_OF_COMPLETION"; print -r -- rea""dy
"""


def in_bash(line: str) -> str:
    """What ``line`` becomes when the tab key is pressed behind it."""
    word = line.rpartition(" ")[2]
    script = (
        'eval "$LINES_OF_COMPLETION"; COMP_TYPE=9; COMP_LINE=$1; COMP_POINT=${#1}; COMP_WORDS=($1); '
        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _python_argcomplete candle-parity; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    (found,) = _output("bash", "--norc", "-c", script, "bash", line)
    return line.removesuffix(word) + found.strip()


def in_fish(line: str) -> str:
    word = line.rpartition(" ")[2]
    script = f"echo $LINES_OF_COMPLETION | source; complete -C '{line}'"
    (found,) = _output("fish", "--no-config", "-c", script)
    return line.removesuffix(word) + found.partition("\t")[0].strip()


def _output(*words: str) -> list[str]:
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env=_environment(words[0]), timeout=SECONDS
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def in_zsh(line: str) -> str:
    """zsh completes at a terminal alone. There Ctrl-X prints the line as it stands."""
    environment = _environment("zsh")
    process, terminal = pty.fork()
    if process == 0:  # as little as possible happens between a fork and the shell
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**environment, "TERM": "dumb", "PROMPT": ""})
    try:
        os.write(terminal, _ZSH.encode())
        assert "command not found" not in _said(terminal, "ready\r\n")
        os.write(terminal, f"{line}\t\x18".encode())  # tab, Ctrl-X
        return _said(terminal, ">>").rpartition("<<")[2].partition(">>")[0].strip()
    finally:
        os.close(terminal)
        os.kill(process, 9)
        os.waitpid(process, 0)


def _said(terminal: int, end: str) -> str:
    """What the terminal shows up to ``end``."""
    said, until = "", time.monotonic() + SECONDS
    while end not in said:
        assert time.monotonic() < until, f"zsh said only {said!r}"
        if select.select([terminal], [], [], 1)[0]:
            said += os.read(terminal, 1 << 16).decode(errors="replace")
    return said


@cache
def completion(shell: str) -> str:
    """What ``candle-parity completion SHELL`` prints."""
    done = subprocess.run([PROGRAM, "completion", shell], capture_output=True, text=True, check=True)
    return done.stdout


def _environment(shell: str) -> dict[str, str]:
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "LINES_OF_COMPLETION": completion(shell)}


SHELLS: dict[str, Callable[[str], str]] = {"bash": in_bash, "zsh": in_zsh, "fish": in_fish}


@pytest.mark.slow("starts candle-parity for each shell and line, as a tab key does")
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("candle-parity docto", "candle-parity doctor"),
        ("candle-parity check --parti", "candle-parity check --partial"),
        ("candle-parity run usqr_f3", "candle-parity run usqr_f32"),
    ],
    ids=["command", "option", "kernel"],
)
def test_the_tab_key_completes(
    shell: str, typed: str, completed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    if not PROGRAM.exists():
        pytest.skip("candle-parity is not installed in this environment")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert SHELLS[shell](typed) == completed
