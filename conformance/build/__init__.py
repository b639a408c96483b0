"""From a path of kernel sources to code objects."""

from conformance.build.cache import compiled
from conformance.build.digest import tree_digest
from conformance.build.sources import KernelSource, SourceError, find_sources

__all__ = ["KernelSource", "SourceError", "compiled", "find_sources", "tree_digest"]
