"""What a run was, as a record by hand has it."""

from __future__ import annotations

from typing import Any

from conformance.record import RunInfo


def run_info(**changes: Any) -> RunInfo:
    values: dict[str, Any] = {
        "runtime": "cpu",
        "device": "host, 2 cores",
        "wave": 64,
        "kernels": "kernels",
        "started": "2026-01-02T03:04:05Z",
        "seconds": 1.5,
        "hip_python": "10.0",
        "upstream_commit": "2a13b0f",
        **changes,
    }
    return RunInfo(**values)
