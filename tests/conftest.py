"""Byte code is kept for the tests: they start the harness's processes by the hundred, and each imports all of it."""

from __future__ import annotations

import os

from conformance.files import cache_folder

if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(cache_folder() / "bytecode"))
