"""Kernels that are to be added, as the command line gives them: names, upstream lines and tolerance."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import yaml

from conformance.dtypes import SPELLINGS
from conformance.spec import SelectionError
from conformance.spec.kernel import Tolerance
from conformance.spec.model import MOST_STEPS, TODO

_BRACES = re.compile(r"\{([^{}]*)\}")
_C_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LINE = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
MOST_NAMES = 100
_STEPS = re.compile(r"[0-9]{1,4}", re.ASCII)
_WIDEST = 120
"""Characters of a line, as the linters have it."""


@dataclass(frozen=True)
class Bound:
    """A tolerance as YAML: ``2``, or ``{f32: 2, f64: 1}`` by dtype."""

    ulp: str
    library_ulp: str
    source: str

    def flow(self, when: Mapping[str, Sequence[str]]) -> str:
        """The rule for the kernels of ``when``, on one line and in braces."""
        return f"{{{', '.join(self._fields(when))}}}"

    def rule(self, when: Mapping[str, Sequence[str]], indent: int) -> str:
        """The rule as an entry of a block list whose dashes are in column ``indent``, on one line if it fits."""
        line = f"{' ' * indent}- {self.flow(when)}"
        return (
            line if len(line) <= _WIDEST else f"{' ' * indent}- " + f"\n{' ' * (indent + 2)}".join(self._fields(when))
        )

    def _fields(self, when: Mapping[str, Sequence[str]]) -> list[str]:
        chosen = ", ".join(f"{axis}: [{', '.join(map(scalar, values))}]" for axis, values in when.items())
        bounds = [f"ulp: {self.ulp}", f"library_ulp: {self.library_ulp}", f"source: {scalar(self.source)}"]
        return [f"when: {{{chosen}}}", *bounds] if when else bounds


UNSET = Bound(TODO, TODO, TODO)
"""What stands in an edit whose tolerance nobody has given."""

STAND_IN = Bound("0", "0", "stands in while the edit is tried")


def given_bound(ulp: str, library_ulp: str, source: str) -> Bound:
    """The tolerance that the user gave. Raises ``SelectionError`` for a number of ulp that is none, and for an empty
    source."""
    text = " ".join(source.split())
    if not text or text == TODO:
        raise SelectionError("the tolerance has no source; say where the bound comes from, such as 'bit copy'")
    return Bound(_steps("ulp", ulp), _steps("library ulp", library_ulp), text)


def like_bound(tolerance: Tolerance) -> Bound:
    """The tolerance of an existing kernel."""
    return Bound(str(tolerance.ulp), str(tolerance.library_ulp), tolerance.source)


def scalar(text: str) -> str:
    """``text`` as a YAML scalar for use inside of ``[]`` or ``{}``: quoted if YAML would read something else."""
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


def expanded(patterns: Iterable[str], spelling: Mapping[str, str]) -> list[str]:
    """The names that ``patterns`` stand for, each once: ``usquare_{f32,f16}`` stands for two.

    A value in braces that is in ``spelling``, such as a dtype, is replaced by its spelling in kernel names. Raises
    ``SelectionError`` for a result that is no name in C.
    """
    names: list[str] = []
    for pattern in patterns:
        for name in _product(pattern, spelling):
            if not _C_NAME.fullmatch(name):
                raise SelectionError(
                    f"{name!r} is not a C name; use letters, digits, underscores and {{f32,f16}} lists"
                )
            if len(names) > MOST_NAMES:
                raise SelectionError(f"{pattern!r} stands for more than {MOST_NAMES} names; give fewer at a time")
            names.append(name)
    return list(dict.fromkeys(names))


def _product(pattern: str, spelling: Mapping[str, str]) -> Iterator[str]:
    match = _BRACES.search(pattern)
    if match is None:
        yield pattern
        return
    for value in match[1].split(","):
        spelled = spelling.get(value.strip(), value.strip())
        yield from _product(pattern[: match.start()] + spelled + pattern[match.end() :], spelling)


def split_dtype(name: str) -> tuple[str, str]:
    """The name without the dtype at its end, and the dtype as it is spelled there; "" where the name ends in none."""
    for spelled in SPELLINGS:
        if name.endswith(f"_{spelled}"):
            return name.removesuffix(f"_{spelled}"), spelled
    return name, ""


def lines_of(names: Sequence[str], text: str) -> dict[str, int]:
    """The upstream line of each name. ``text`` is one number for all, or ``f32:12,f16:40`` by dtype or name.

    Raises ``SelectionError`` where a name has no line, and for a key that fits no name.
    """
    if _LINE.fullmatch(text):
        return dict.fromkeys(names, int(text))
    given: dict[str, int] = {}
    for part in text.split(","):
        key, _, line = (word.strip() for word in part.partition(":"))
        if not key or not _LINE.fullmatch(line):
            raise SelectionError(f"--line {text}: {part!r} is not DTYPE:N; give a line from 1 on, or f32:12,f16:40")
        given[key] = int(line)
    keys = {name: _key(name, given) for name in names}
    missing = [name for name, key in keys.items() if key is None]
    if missing:
        raise SelectionError(f"--line {text}: no line for {', '.join(missing)}; give one for each dtype")
    unused = given.keys() - set(keys.values())
    if unused:
        raise SelectionError(f"--line {text}: no new kernel is of {', '.join(sorted(unused))}; leave it out")
    return {name: given[key] for name, key in keys.items() if key is not None}


def _key(name: str, given: Mapping[str, int]) -> str | None:
    _, spelled = split_dtype(name)
    return next((key for key in (name, spelled, SPELLINGS.get(spelled, "")) if key in given), None)
