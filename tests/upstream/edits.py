"""What an edit changed, in lines."""

from __future__ import annotations

import difflib
from pathlib import Path

from conformance.spec.load import SPEC_FOLDER


def added_lines(specs: Path, module: str) -> list[str]:
    """The lines of a spec that are not in the repository's."""
    return added(SPEC_FOLDER / f"{module}.yaml", specs / f"{module}.yaml")


def added(before: Path, after: Path) -> list[str]:
    """The lines of ``after`` that are not in ``before``; all of them where there is no ``before``."""
    was = before.read_text().splitlines() if before.is_file() else []
    return [line[2:] for line in difflib.ndiff(was, after.read_text().splitlines()) if line.startswith("+ ")]
