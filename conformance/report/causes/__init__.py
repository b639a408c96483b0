"""Why kernels fail: failures with the same evidence, grouped and named by a table of causes."""

from conformance.report.causes.find import Finding, find_causes
from conformance.report.causes.lines import cause_lines

__all__ = ["Finding", "cause_lines", "find_causes"]
