"""Compiling, loading and launching through hip-python.

What needs numpy is imported when it is first asked for: the process that only compiles starts sooner without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.device.rtc import CompileError

if TYPE_CHECKING:
    from conformance.device.hip import Device, Function, HipError, LaunchResult, Module

__all__ = ["CompileError", "Device", "Function", "HipError", "LaunchResult", "Module"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from conformance.device import hip

    return getattr(hip, name)
