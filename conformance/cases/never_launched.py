"""Cases that Candle's Rust side never launches, with the reason and where its sources say so.

A kernel is a kernel of Candle's by what Candle launches. The other cases ask for more, such as a grid that is smaller
than the data; what becomes of them is counted apart, as robustness. A function of Rust's that launches a kernel counts
with all of its arguments, also where its callers prefer another kernel most of the time (conv1d, conv2d).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from conformance.cases.case import Case, parse_fields
from conformance.reading import own_yaml


class NeverLaunched(NamedTuple):
    """Why a case is never launched, and ``FILE:LINE`` in Candle's Rust sources."""

    why: str
    where: str


_MATCHES: dict[str, Callable[[str], bool]] = {
    "anything": lambda value: True,
    "zero": lambda value: re.search(r"\b0\b", value) is not None,
    "zero outside of the middle": lambda value: value.startswith("[0,") or value.endswith(",0]"),
    "no multiple of 32": lambda value: value.isdecimal() and int(value) % 32 != 0,
    "over 8": lambda value: value.isdecimal() and int(value) > 8,
}


@dataclass(frozen=True, eq=False)
class NeverLaunchedRow:
    """Cases of some launch families by the value of one field, which is ``one_of`` these, else as ``matches`` says.

    ``lines`` has the line of ``file`` for each family.
    """

    field: str
    why: str
    file: str
    lines: Mapping[str, int]
    one_of: tuple[str, ...] = ()
    matches: str = "anything"

    def holds(self, case: Case) -> bool:
        """Whether the field of ``case`` is as the row has it, whatever its family."""
        value = _fields(case).get(self.field)
        if value is None:
            return False
        return value in self.one_of if self.one_of else _MATCHES[self.matches](value)


ROWS = tuple(NeverLaunchedRow(**row) for row in own_yaml(Path(__file__).with_suffix(".yaml")))


def never_launched(family: str, case: Case) -> NeverLaunched | None:
    """Why Candle's Rust side never makes the launch of ``case``, a case of launch family ``family``; else ``None``.

    The kernels that no Rust calls (``fill``, ``sum``) have no launch of Candle's: every one that they allow counts.
    """
    for row in ROWS:
        if family in row.lines and row.holds(case):
            return NeverLaunched(row.why, f"{row.file}:{row.lines[family]}")
    return None


def _fields(case: Case) -> dict[str, str]:
    """The fields of ``case``; of a recorded one those of the generated case that it was made from, if any."""
    fields = dict(case.fields)
    _, made, of = fields.get("trace", "").partition("generated,")
    if made:
        with suppress(ValueError):  # a trace may have any label
            fields.update(parse_fields(of))
    return fields
