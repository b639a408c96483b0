"""AMD code objects where there is no GPU: a compiler put together from what is installed, and what objects say."""

from conformance.amd.bundles import CompressedBundle
from conformance.amd.cache import Compiled, compile_cached
from conformance.amd.errors import AmdError
from conformance.amd.layout import expected_arguments, layout_difference
from conformance.amd.metadata import Argument, CodeObject, KernelObject, code_for, read_code_objects
from conformance.amd.targets import DEFAULT_TARGETS, Target, targets_of
from conformance.amd.toolchain import CompileFailure, Toolchain, find_toolchain

__all__ = [
    "DEFAULT_TARGETS",
    "AmdError",
    "Argument",
    "CodeObject",
    "CompileFailure",
    "Compiled",
    "CompressedBundle",
    "KernelObject",
    "Target",
    "Toolchain",
    "code_for",
    "compile_cached",
    "expected_arguments",
    "find_toolchain",
    "layout_difference",
    "read_code_objects",
    "targets_of",
]
