"""Compiling, loading and launching through hip-python."""

from conformance.device.hip import CompileError, Device, Function, HipError, LaunchResult, Module

__all__ = ["CompileError", "Device", "Function", "HipError", "LaunchResult", "Module"]
