"""Compiling, loading and launching through hip-python."""

from conformance.device.errors import CompileError, HipError
from conformance.device.hip import Device, Function, LaunchResult, Module

__all__ = ["CompileError", "Device", "Function", "HipError", "LaunchResult", "Module"]
