"""Edits of what only a compiler reads: each is a tree of its own, whose verdict must not be a pass."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from conformance.files import kernels_folder
from tests.selftest.catalogue import Alone
from tests.selftest.variants import Variant, judged

_INSTANTIATED = re.compile(r"^[A-Z][A-Z0-9_]*\(.*\)$")


def tried(row: Alone) -> str | None:
    """How the kernel of ``row`` is rejected; ``None`` where it passes."""
    ours = kernels_folder()
    with tempfile.TemporaryDirectory(prefix="selftest-") as folder:
        for path in (ours / f"{row.source}.hip", *(ours / "include").rglob("*.h")):
            text = path.read_text()
            if path.suffix == ".hip":
                lines = text.splitlines()
                text = "\n".join(one for one in lines if not _INSTANTIATED.match(one) or one.startswith(row.keep))
            if path == ours / row.file:
                assert row.old in text, f"{row.bug_class}: {row.file} has no {row.old!r}"
                text = text.replace(row.old, row.new, 1)
            target = Path(folder) / "kernels" / path.relative_to(ours)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        variant = Variant(row.bug_class, Path(folder) / "kernels", (), row.kernel, "")
        found = judged(variant, ("--runtime", "cpu"), strict=True)
        return found.rejected.get(row.kernel)
