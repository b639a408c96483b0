"""The tolerance of kernels that are to be added: given, or a mark that the specs are not loaded with."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import yaml

from conformance.spec import SelectionError
from conformance.spec.kernel import Tolerance
from conformance.spec.model import MOST_STEPS, TODO

_STEPS = re.compile(r"[0-9]{1,4}", re.ASCII)
WIDEST = 120
"""Characters of a line, as the linters have it."""


@dataclass(frozen=True)
class Bound:
    """A rule's bounds as YAML: ``2``, or ``{f32: 2, f64: 1}`` by dtype."""

    ulp: str
    library_ulp: str
    source: str

    def flow(self, when: Mapping[str, Sequence[str]]) -> str:
        """The rule for the kernels of ``when`` on one line, in braces."""
        return f"{{{', '.join(self._fields(when))}}}"

    def rule(self, when: Mapping[str, Sequence[str]], indent: int) -> str:
        """The rule as an entry of a block list whose dashes stand in column ``indent``: on one line where it fits."""
        line = f"{' ' * indent}- {self.flow(when)}"
        return line if len(line) <= WIDEST else f"{' ' * indent}- " + f"\n{' ' * (indent + 2)}".join(self._fields(when))

    def _fields(self, when: Mapping[str, Sequence[str]]) -> list[str]:
        chosen = ", ".join(f"{axis}: [{', '.join(map(scalar, values))}]" for axis, values in when.items())
        bounds = [f"ulp: {self.ulp}", f"library_ulp: {self.library_ulp}", f"source: {scalar(self.source)}"]
        return [f"when: {{{chosen}}}", *bounds] if when else bounds


UNSET = Bound(TODO, TODO, TODO)
"""What stands in an edit whose tolerance nobody has given."""

STAND_IN = Bound("0", "0", "stands in while the edit is tried")


def given_bound(ulp: str, library_ulp: str, source: str) -> Bound:
    """What a user gave; raises ``SelectionError`` for steps that are none and for a source without content."""
    text = " ".join(source.split())
    if not text or text == TODO:
        raise SelectionError("the tolerance has no source; say where the bound comes from, such as 'bit copy'")
    return Bound(_steps("ulp", ulp), _steps("library ulp", library_ulp), text)


def like_bound(tolerance: Tolerance) -> Bound:
    """The bound that a kernel has."""
    return Bound(str(tolerance.ulp), str(tolerance.library_ulp), tolerance.source)


def scalar(text: str) -> str:
    """``text`` as a YAML scalar inside of ``[]`` or ``{}``: quoted where YAML would read something else."""
    try:
        plain = yaml.safe_load(f"[{text}]") == [text]
    except yaml.YAMLError:
        plain = False
    return text if plain and text == text.strip() else json.dumps(text, ensure_ascii=False)


def _steps(what: str, text: str) -> str:
    """``2``, or ``f32:2,f64:1`` as a YAML mapping."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) == 1 and ":" not in text:
        return _number(what, parts[0])
    pairs = [part.partition(":") for part in parts]
    if not all(key.strip() for key, _, _ in pairs):
        raise SelectionError(f"{what} {text!r} is not understood; give a number, or f32:2,f64:1 by dtype")
    return "{" + ", ".join(f"{key.strip()}: {_number(what, steps.strip())}" for key, _, steps in pairs) + "}"


def _number(what: str, text: str) -> str:
    if not _STEPS.fullmatch(text) or int(text) > MOST_STEPS:
        raise SelectionError(f"{what} {text!r} is not a number of steps; give 0 to {MOST_STEPS}, or f32:2,f64:1")
    return str(int(text))
