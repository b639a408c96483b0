"""The JSON record of a run, schema 1: what every report is rendered from."""

from conformance.outcome import INFRASTRUCTURE, Failure, KernelResult, Resources
from conformance.record.files import check_specs, read_record, record_text, write_record
from conformance.record.merge import kept_apart, merge
from conformance.record.model import Build, Port, Record, RunInfo, Summary, every_kernel, summarise
from conformance.status import STATUSES, Status
from conformance.writing import FileError, write_bytes, write_text
