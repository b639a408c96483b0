"""A change of one kernel, as somebody who ports kernels makes it between two verdicts."""

from __future__ import annotations

import re

_MACRO = re.compile(r"^#define UNARY\(name, T\)(?P<body>(?:.*\\\n)*.*)$", re.MULTILINE)
_USE = "UNARY(exp, f32)"


class CannotEdit(RuntimeError):
    """The file is not as the edit expects it; the message says what is missing."""


def edited(text: str, number: int) -> str:
    """``text`` of unary.hip with ``uexp_f32`` defined by itself and changed: it returns at once where it is given
    2**40 + ``number`` elements, which no case does. All other kernels, and the numbers of lines, stay. Raises
    ``CannotEdit``."""
    macro = _MACRO.search(text)
    if macro is None or text.count(_USE) != 1:
        raise CannotEdit(f"unary.hip does not define uexp_f32 with {_USE}; correct tests/speed/edits.py")
    body = " ".join(line.rstrip("\\").strip() for line in macro["body"].splitlines())
    body = re.sub(r"\bT\b", "f32", re.sub(r"\bname\b", "exp", body)).replace("##", "")
    head, brace, rest = body.strip().partition("{")
    return text.replace(_USE, f"{head}{brace} if (numel == (1ull << 40) + {number}) return; {rest.strip()}")
