"""From a path of kernel sources to code objects."""

from conformance.build.cache import compiled
from conformance.build.digest import tree_digest
from conformance.build.notices import take_warnings
from conformance.build.options import NO_OPTIONS, OPTIONS_FILE, BuildOptions, options_for
from conformance.build.sources import KernelSource, SourceError, find_sources
from conformance.build.target import Limits, Target

__all__ = [
    "NO_OPTIONS",
    "OPTIONS_FILE",
    "BuildOptions",
    "KernelSource",
    "Limits",
    "SourceError",
    "Target",
    "compiled",
    "find_sources",
    "options_for",
    "take_warnings",
    "tree_digest",
]
