"""``python -m tests.house.same_records OLD NEW``: whether two records of one port say the same.

For changes of structure, which leave records as they are. What differs between any two runs is left out: when and how
long they ran, the commits and digests of harness, port and specs, and versions of what is installed. Prints each row
and field that differs, and exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.record import Record, read_record

OF_A_RUN = {
    *("started", "seconds", "run_id", "kept"),
    *("git", "sources", "harness", "specs_digest", "declared", "source_lines", "files"),
    *("device", "host", "hip_python", "hip_version", "library", "other_libraries", "driver", "sandbox"),
}
"""Fields of ``run`` that differ between two runs of one port by the same rules."""

OF_A_KERNEL = {"seconds", "compiler_name"}
PARTS = ("kernels", "launchers", "libraries", "own")


def differences(old: Record, new: Record) -> Iterator[str]:
    """What differs between two records, a sentence each."""
    one, other = (record.model_dump(mode="json") for record in (old, new))
    yield from _fields("run", one["run"], other["run"], OF_A_RUN)
    for part in PARTS:
        rows, others = ({row["name"]: row for row in record[part]} for record in (one, other))
        for name in {**rows, **others}:
            if name not in rows or name not in others:
                yield f"{name} is only in the {'new' if name in others else 'old'} record"
            else:
                yield from _fields(name, rows[name], others[name], OF_A_KERNEL)


def _fields(name: str, old: Mapping[str, Any], new: Mapping[str, Any], left_out: set[str]) -> Iterator[str]:
    for field in {**old, **new}:
        if field not in left_out and old.get(field) != new.get(field):
            yield f"{name}: {field} was {old.get(field)!r:.300} and is {new.get(field)!r:.300}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.house.same_records", description=__doc__)
    parser.add_argument("old", type=Path, metavar="OLD")
    parser.add_argument("new", type=Path, metavar="NEW")
    arguments = parser.parse_args()
    found = list(differences(read_record(arguments.old), read_record(arguments.new)))
    print("\n".join(found) or "the same")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
