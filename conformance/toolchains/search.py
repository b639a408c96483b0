"""Where compilers and ROCm are looked for: PATH with versioned names, ziglang from PyPI, the folders of ROCm."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

NEWEST = {"clang++": 30, "g++": 20}
"""The highest versions that are looked for."""

OPT = Path("/opt")
_SECONDS = 120
"""For a compiler to say what it is; zig unpacks itself first."""


def on_path(name: str, oldest: int) -> Iterator[str]:
    """The compilers called ``name`` on the PATH: the plain name first, then names with a version (``clang++-19``),
    newest first.

    Versions below ``oldest`` are left out. The version of the plain name is not known here.
    """
    for version in ("", *(f"-{number}" for number in range(NEWEST[name], oldest - 1, -1))):
        path = shutil.which(name + version)
        if path is not None:
            yield path


def output_of(command: Sequence[str]) -> str:
    """What a command prints on standard output; empty where it cannot be run, fails, or does not end."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def first_line(text: str) -> str:
    """The first line of what a compiler says to ``--version``, with single spaces."""
    return " ".join(next(iter(text.strip().splitlines()), "").split())


def zig(tool: str) -> tuple[str, ...]:
    """The command of a tool of the PyPI package ziglang (``c++``, ``clang``, ``ld.lld``); empty without the package."""
    # -P: not a ziglang of the working directory, which is the port's.
    return (sys.executable, "-P", "-m", "ziglang", tool) if importlib.util.find_spec("ziglang") is not None else ()


def zig_headers() -> Path:
    """The folder in the PyPI package ziglang with clang's own headers (stddef.h), which its clang, called by that name,
    does not find. Raises ``LookupError`` without the package."""
    package = importlib.util.find_spec("ziglang")
    if package is None or package.origin is None:
        raise LookupError("the PyPI package ziglang is not installed")
    return Path(package.origin).parent / "lib/include"


def rocm_folders(packages: Sequence[str], variables: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Folders where ROCm may be installed, there or not, each with the words for how it was found: its Python packages,
    those that variables of the environment name, and /opt/rocm before /opt/rocm-VERSION, newest first."""
    for name in packages:
        # A package is found without being imported.
        spec = importlib.util.find_spec(name)
        places = spec.submodule_search_locations if spec is not None else None
        yield from (("the rocm-sdk wheels", Path(place)) for place in places or ())
    for name in variables:
        if os.environ.get(name):
            yield name, Path(os.environ[name])
    for root in (OPT / "rocm", *sorted(OPT.glob("rocm-*"), key=release, reverse=True)):
        yield str(root), root


def release(folder: Path) -> tuple[int, ...]:
    """The numbers in a folder's name, ``(7, 2, 4)`` for ``rocm-7.2.4``: to sort releases by."""
    return tuple(int(number) for number in re.findall(r"\d+", folder.name))
