"""Why kernels fail: failures with the same evidence, grouped and named by a table of causes."""

from conformance.report.causes.find import Finding, find_causes
from conformance.report.causes.text import cause_lines, cause_section, shared_causes
