"""Static checks of a port: what its sources and code objects define, against the specs. Nothing is executed."""

from conformance.check.findings import ERROR_KINDS, WARNING_KINDS, Finding
from conformance.check.objects import ObjectFile, check_objects, read_objects
from conformance.check.report import CheckReport, report_json, report_text
from conformance.check.source import SourceTree, check_sources, read_tree

__all__ = [
    "ERROR_KINDS",
    "WARNING_KINDS",
    "CheckReport",
    "Finding",
    "ObjectFile",
    "SourceTree",
    "check_objects",
    "check_sources",
    "read_objects",
    "read_tree",
    "report_json",
    "report_text",
]
