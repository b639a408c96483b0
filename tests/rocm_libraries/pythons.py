"""Interpreters with the two lines of hip-python that the project supports."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import lru_cache

from tests.rocm_libraries.box import ROOT
from tests.rocm_libraries.libraries import Unavailable

LINES = ("7.2", "10")
VARIABLE = "CANDLE_PARITY_PYTHONS"
_VERSION = "from importlib.metadata import version; print(version('hip-python'))"


def python_with(line: str) -> str:
    """An interpreter whose hip-python is of ``line``: this one, one in the repository's ``.venv*``, or one that
    ``$CANDLE_PARITY_PYTHONS`` names (paths, separated by ``:``). Raises ``Unavailable``.
    """
    named = os.environ.get(VARIABLE, "").split(":")
    for path in (sys.executable, *sorted(map(str, ROOT.glob(".venv*/bin/python"))), *named):
        if path and f"{_version(path)}.".startswith(f"{line}."):
            return path
    raise Unavailable(f"no Python with hip-python {line} in .venv, .venv-7.2 or {VARIABLE}")


@lru_cache
def _version(python: str) -> str:
    try:
        done = subprocess.run([python, "-c", _VERSION], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
