"""What a judge and a timer share: how the process begins, and how a defect of the harness is told."""

from __future__ import annotations

import faulthandler
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from conformance.engine.progress import Progress
from conformance.engine.wire import Channel, Closed
from conformance.processes import Supervisor, die_with_parent


def run_member(serve: Callable[[Channel, Progress, Supervisor], None]) -> None:
    """Serve until the other side closes, as ``python -m MODULE SOCKET_FD PROGRESS_FD PARENT_PID``."""
    die_with_parent(int(sys.argv[3]))
    faulthandler.enable()
    with Supervisor() as supervisor:
        try:
            serve(Channel.adopt(int(sys.argv[1])), Progress(int(sys.argv[2])), supervisor)
        except Closed:
            return


def defect(error: Exception) -> str:
    """A defect of the harness in words: what was raised, and where."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"the harness failed: {error!r} at {Path(where.filename).name}:{where.lineno}"
