"""docs/causes.md, made of conformance/report/causes/causes.yaml: ``python -m tests.house.causes_page`` writes it.

The examples are the kernels with planted mistakes of tests/causes, each of which a test holds to its cause.
"""

from __future__ import annotations

import re

from conformance.files import ROOT
from conformance.report.causes.cause import Cause
from conformance.report.causes.table import CAUSES
from tests.causes.test_planted import NAMES, PLANTED

PAGE = ROOT / "docs" / "causes.md"
LONGEST = 16
"""Lines of an example; longer kernels are named, not shown."""

HEAD = """# Causes

For whoever has a cause from a report and wants to know more: every cause that `run` can name, with its advice and,
if it is short, a kernel with the mistake.

A cause is named only if every failing case that is counted under it shows the evidence that the cause asks for.
Failures that fit no cause are listed as "not recognised". Many causes belong to a [bug class](../specs/bug-classes.md),
which is named in parentheses.

In the examples `mended` is false in the kernel that fails. Where it is true, the kernel does what the advice says and
passes. `LOOP` is a grid-stride loop over `i`; `ELEMENT` is the position of element `i` by dims and strides.
"""


def page() -> str:
    return HEAD + "".join(map(_section, CAUSES))


def _section(cause: Cause) -> str:
    known = f" (bug class {cause.bug_class})" if cause.bug_class else ""
    text = f"\n## {cause.title}\n\n`{cause.id}`{known}: {cause.advice}.\n"
    kernels = [kernel for kernel, name in NAMES.items() if name == cause.id]
    for kernel in kernels[:1]:
        if example := _example(kernel):
            text += f"\n```cpp\n{example}\n```\n"
        else:
            text += f"\nAn example is `{kernel}` in `tests/causes`.\n"
    return text


def _example(kernel: str) -> str:
    """The definition of a planted kernel, with the comment above it; empty if it is long."""
    for source in PLANTED:
        lines = source.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if re.match(rf"(?:[A-Z]\w*\(|\s+|extern .* ){kernel}\b", line) is None:
                continue
            first = number if re.match(r"[A-Z]\w*\(|extern", line) else number - 1
            last = _end(lines, first)
            while lines[first - 1].startswith("// "):
                first -= 1
            return "\n".join(lines[first : last + 1]) if last - first < LONGEST else ""
    return ""


def _end(lines: list[str], first: int) -> int:
    """The line in which the brackets that ``first`` opens are closed again; a definition's body counts."""
    open_brackets, body = 0, lines[first].startswith("extern")
    for number in range(first, len(lines)):
        open_brackets += sum((char in "({") - (char in ")}") for char in lines[number])
        if open_brackets == 0 and (not body or lines[number].startswith("}")):
            return number
    return len(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
