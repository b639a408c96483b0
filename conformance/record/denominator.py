"""Whether a record is of the specs that it is reported against: the percentage is over their kernels."""

from __future__ import annotations

from pathlib import Path

from conformance.record.model import Record
from conformance.spec.load import Specs
from conformance.writing import FileError


def check_specs(record: Record, specs: Specs, path: Path) -> None:
    """Raises ``FileError`` where the record at ``path`` is of other specs, or lacks kernels of these or has others.

    A record of an earlier version of the harness's own specs may differ, and so may one from before the digest.
    """
    run = record.run
    if run.specs_digest is None:
        return
    if run.specs_digest != specs.digest:
        if run.specs is not None:
            raise FileError(
                f"{path}: the record is of the specs {run.specs!r} (digest {run.specs_digest!r}), not of "
                f"{_named(specs)} (digest {specs.digest}); give those with --specs"
            )
        if specs.given is not None:
            raise FileError(
                f"{path}: the record is of the harness's own specs (digest {run.specs_digest!r}), not of "
                f"{_named(specs)} (digest {specs.digest}); leave out --specs"
            )
        return
    names = {kernel.name for kernel in record.kernels}
    strange = (names - specs.kernels.keys()) | ({row.name for row in record.launchers} - specs.launchers.keys())
    for what, found in (("lacks", specs.kernels.keys() - names), ("has", strange)):
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            whose = "of its specs" if what == "lacks" else "that its specs do not have"
            raise FileError(
                f"{path}: the record {what} kernel {min(found)!r}{more} {whose} (digest {specs.digest}); it was "
                "changed or cut: run again to make it anew"
            )


def _named(specs: Specs) -> str:
    return "the harness's own specs" if specs.given is None else f"the specs {str(specs.given)!r}"
