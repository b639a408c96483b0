"""What all tests share: byte code is kept for them, and the marks of their tiers.

The harness's processes are started by the hundred and each imports all of it, so byte code is kept even where the
environment forbids it. tests/README.md says what the tiers are for.
"""

from __future__ import annotations

import os
import signal

import pytest

from conformance.environment import PASS
from conformance.files import cache_folder

if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(cache_folder() / "bytecode"))

# A shell's background jobs ignore Ctrl-C, and so would the commands that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TIERS = ("slow", "nightly")


os.environ.pop("COLUMNS", None)  # the output that tests read has no width
# Kernels and libraries of the tests are told by these what to do.
os.environ.setdefault(PASS, "STAND_IN_*,ATTEMPT*,LAUNCHER_*,MISTAKE,SEEN,SPEND,BREAK,FULL,WHO")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow(reason): `make quick` leaves it out; what it spends its seconds on")
    config.addinivalue_line("markers", "nightly(reason): `make test` leaves it out; what it spends its time on")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Refuse a mark without its reason."""
    for mark in (mark for tier in TIERS for mark in item.iter_markers(tier)):
        if mark.kwargs or len(mark.args) != 1 or not isinstance(mark.args[0], str):
            raise pytest.UsageError(
                f'{item.nodeid}: the mark "{mark.name}" takes a reason: @pytest.mark.{mark.name}("...")'
            )
