"""Judging what a kernel wrote against what was expected."""

from conformance.compare.verdict import Mismatch, judge

__all__ = ["Mismatch", "judge"]
