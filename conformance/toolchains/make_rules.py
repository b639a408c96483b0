"""What a compiler has read, by the rule for make that it writes (``-MD``)."""

from __future__ import annotations

import re

_WORD = re.compile(r"(?:\\[\s#]|[^\s])+")


def prerequisites(rule: str) -> list[str]:
    """The files of a make rule ``k: a b\\ c ...``. The target must have no colon in its name."""
    paths = _WORD.findall(rule.replace("\\\n", " ").partition(":")[2])
    return [re.sub(r"\\([ \t#])", r"\1", path).replace("$$", "$") for path in paths]
