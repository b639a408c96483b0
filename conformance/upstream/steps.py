"""What a person has to do besides the spec, each step with file and line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from conformance.files import PACKAGE, REFERENCE, ROOT, kernels_folder
from conformance.spec.kernel import Kernel
from conformance.upstream.like import Addition


def what_else(addition: Addition, names: Sequence[str], like: Kernel, unset: bool) -> Iterator[str]:
    """The steps that remain after ``addition`` of the kernels ``names``, which are like ``like``.

    ``unset`` says that no tolerance was given for them.
    """
    new = ", ".join(names)
    op = like.variant.get("op", "")
    spec = f"{addition.path.parent.name}/{addition.path.name}:{addition.line}"
    if unset:
        yield f"{spec}: set the tolerance, which is TODO, or give it with --ulp N --source TEXT"
    kernels = kernels_folder()
    kernel = _at(kernels / f"{like.module}.hip", (like.name, op, like.family), kernels.parent)
    yield f"{kernel}: define {new} next to {like.name} (or in the port that --kernels names)"
    header = next(_operation(kernels / "include", op), None) if op else None
    if header is not None:
        yield f"{header.relative_to(kernels.parent).as_posix()}: the operation itself, next to {op}"
    reference = _at(REFERENCE / f"{like.module}.py", (op, like.family), ROOT)
    if addition.kind == "new stanza" or op:
        yield f"{reference}: the maths of {new}, in numpy"
    else:
        yield f"{reference}: check that the reference takes the new {addition.kind} as it is"
    cases = _at_any(PACKAGE / "cases" / "families", like.launch, ROOT)
    yield f"{cases}: the cases come with the launch family {like.launch}; check their values"
    if like.is_host_function:
        yield f"{spec}: wired_at, where Candle's Rust calls {new}: `wiring --candle DIR` names the places"
    yield f"{spec}: check notes, undefined and upstream_defects; `drift --candle DIR --write` sets upstream lines"
    yield f"candle-parity run {' '.join(names)}"


def _at(path: Path, names: Sequence[str], root: Path) -> str:
    """``file:line`` of the first of ``names`` that the file has: where it is defined, quoted or mentioned."""
    shown = path.relative_to(root).as_posix()
    if not path.is_file():
        return f"{shown} (a new file)"
    lines = path.read_text(encoding="utf-8").splitlines()
    for name in map(re.escape, filter(None, names)):
        for form in (rf"^\s*def \w*{name}", rf"[\"']{name}[\"']", rf"^[^\"'/#]*\b{name}\b"):
            for number, line in enumerate(lines, 1):
                if re.search(form, line):
                    return f"{shown}:{number}"
    return f"{shown}:{len(lines)}"


def _operation(folder: Path, op: str) -> Iterator[Path]:
    """The headers that define ``op`` in namespace op."""
    for path in sorted(folder.glob("*.h")):
        if re.search(rf"^(?:struct |[A-Z_]+\(){re.escape(op)}\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            yield path


def _at_any(folder: Path, word: str, root: Path) -> str:
    for path in sorted(folder.glob("*.py")):
        if re.search(rf"[\"']{re.escape(word)}[\"']", path.read_text(encoding="utf-8")):
            return _at(path, (word,), root)
    return f"{folder.relative_to(root).as_posix()} (no family is called {word} yet)"
