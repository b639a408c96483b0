"""The definitions of a source as its files spell them, and how one is taken out without moving anything else.

A definition that is taken out leaves its comments, its line breaks and its preprocessor directives behind, but for
pragmas of statements, so that no line number changes. What others may use is not removed but refused: a function
becomes ``= delete``, a class incomplete, so that whoever uses it does not compile either, and nobody finds another
overload or specialisation in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from conformance.port.compiling.declared_names import CLASSES, declared_names, outside_attributes, probes, specialises
from conformance.port.definitions.preprocess import behind, outer
from conformance.port.definitions.scan import Declaration

Way = Literal["refused", "removed"]
"""How a definition is taken out."""

TOKEN = re.compile(
    r"""
      (?P<of_a_statement>(?m:^)[ \t]*\#[ \t]*pragma[ \t]+
        (?:(?:clang[ ]|GCC[ ])?(?:unroll|nounroll|loop|ivdep|fp)|omp|STDC)\b(?:\\\n|[^\n])*)
    | (?P<kept>(?m:^)[ \t]*\#(?:\\\n|//[^\n]*|/\*.*?\*/|[^\n])*|//(?:\\\n|[^\n])*|/\*.*?\*/)
    | (?P<text>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"
        |(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*'
        |[A-Za-z_$][\w$]*|\.?[0-9](?:'?[\w.]|(?<=[eEpP])[+-])*|::|[^\s\w])
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENING, _CLOSING = "([{", ")]}"
_ASSERTIONS = frozenset(("static_assert", "_Static_assert"))


class Word(NamedTuple):
    """A token of a file, with the offsets between which it stands."""

    text: str
    start: int
    end: int
    line: int


@dataclass(frozen=True, eq=False)
class Unit:
    """Definitions on the same lines of a file, for example by one use of a macro. They are taken out together.

    ``region`` are their tokens in the file; ``None`` where they cannot be separated from those next to them.
    """

    file: Path
    first: int
    last: int
    members: tuple[Declaration, ...]
    region: tuple[Word, ...] | None = None

    @property
    def kernels(self) -> dict[str, int]:
        """The kernels among the definitions, with their lines."""
        return {each.kernel.name: each.kernel.line for each in self.members if each.kernel is not None}

    @property
    def launchers(self) -> dict[str, int]:
        """The other functions with C linkage, with their lines."""
        return {each.launcher.name: each.launcher.line for each in self.members if each.launcher is not None}

    @property
    def spells_kernels(self) -> bool:
        """Whether the kernels are written out on these lines and not made by a macro."""
        return sum(word.text == "__global__" for word in self.region or ()) >= len(self.kernels)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the definitions that others may use."""
        return frozenset().union(*(names or () for names in self._used))

    @property
    def is_used(self) -> bool:
        """Whether other definitions may use one of these."""
        return bool(self._used)

    @property
    def has_names(self) -> bool:
        """Whether the names of all definitions that others may use can be determined."""
        return None not in self._used

    def mentions(self, names: frozenset[str]) -> bool:
        """Whether one of ``names`` stands on these lines."""
        return not names.isdisjoint(self._identifiers)

    def depends_on(self, names: frozenset[str]) -> bool:
        """Whether these definitions may mean something else without ``names``.

        They may if a name is in the head of one, or in a template that asks whether an expression compiles. A
        definition without a body is all head.
        """
        return self.probes(names) or any(
            not names.isdisjoint(token.text for token in each.tokens[: each.body]) for each in self.members
        )

    def probes(self, names: frozenset[str]) -> bool:
        """Whether one of ``names`` is in a template here that asks whether an expression compiles."""
        return any(probes(tokens, each.body, names) for each, tokens in zip(self.members, self._tokens, strict=True))

    @cached_property
    def specialises(self) -> bool:
        """Whether one of the definitions specialises a template. Code can use a specialisation without naming it."""
        return any(specialises(tokens) for tokens in self._tokens)

    @cached_property
    def _identifiers(self) -> frozenset[str]:
        return frozenset().union(*self._tokens)

    @cached_property
    def _tokens(self) -> list[list[str]]:
        return [[token.text for token in each.tokens] for each in self.members]

    @cached_property
    def _used(self) -> list[frozenset[str] | None]:
        """The names of each that others may use; ``None`` of one whose names cannot be determined."""
        return [
            declared_names(tokens)
            for each, tokens in zip(self.members, self._tokens, strict=True)
            if each.kernel is None and not _instantiates(each)
        ]


def units(declarations: Sequence[Declaration], read: Callable[[Path], str]) -> list[Unit]:
    """``declarations``, grouped by the lines that they stand on, without those that cannot be taken out. ``read`` gives
    a file's text."""
    rows = []
    for each in declarations:
        start = each.tokens[0]
        if start.text in _ASSERTIONS:
            continue
        last = max(token.line for token in each.tokens if token.file == start.file)
        rows.append((Path(start.file).resolve(), start.line, last, each))
    rows.sort(key=lambda row: (str(row[0]), row[1]))
    made: list[Unit] = []
    for file, first, last, each in rows:
        if made and made[-1].file == file and first <= made[-1].last:
            made[-1] = Unit(file, made[-1].first, max(last, made[-1].last), (*made[-1].members, each))
        else:
            made.append(Unit(file, first, last, (each,)))
    tokens = {file: _tokens_of(read(file)) for file in {unit.file for unit in made}}
    following = [*made[1:], None] if made else []
    placed = [_placed(unit, tokens[unit.file], other) for unit, other in zip(made, following, strict=True)]
    return [unit for unit in placed if len(unit.members) > 1 or not _is_kept(unit.members[0])]


def _placed(unit: Unit, tokens: Sequence[Word], following: Unit | None) -> Unit:
    """``unit`` with its tokens, and its last line as the file has it."""
    region = None if any(map(_is_kept, unit.members)) else _region(tokens, unit)
    if region is None:
        return unit
    last = region[-1].line
    if following is not None and following.file == unit.file and following.first <= last:
        return unit
    return replace(unit, last=last, region=tuple(region))


def unit_at(units: Sequence[Unit], file: Path, line: int) -> Unit | None:
    """The unit that covers ``line`` of ``file``; ``None`` where there is none."""
    return next((unit for unit in units if unit.file == file and unit.first <= line <= unit.last), None)


def without(text: str, taken: Mapping[Unit, Way]) -> str | None:
    """``text`` of a file without the units in ``taken``; ``None`` where one cannot be cut out."""
    changes: list[tuple[Word, str]] = []
    for unit, way in taken.items():
        if unit.region is None:
            return None
        changes += (_refused(unit) if way == "refused" else None) or [(word, "") for word in unit.region]
    result, done = [], 0
    for word, put in sorted(changes, key=lambda change: change[0].start):
        result += [text[done : word.start], put, "\n" * word.text.count("\n")]
        done = word.end
    return "".join((*result, text[done:]))


def can_be_refused(unit: Unit) -> bool:
    """Whether ``unit`` is a function or a class, whose body can be left out."""
    return _refused(unit) is not None


def _tokens_of(text: str) -> list[Word]:
    tokens, line, counted = [], 1, 0
    for match in TOKEN.finditer(text):
        if match["kept"] is None:
            line += text.count("\n", counted, match.start())
            counted = match.start()
            tokens.append(Word(match[0], match.start(), match.end(), line))
    return tokens


def _region(tokens: Sequence[Word], unit: Unit) -> list[Word] | None:
    """The tokens on the unit's lines, and on to where the last bracket closes that opens there: a preprocessor puts the
    use of a macro on one line. ``None`` where a bracket closes that opens elsewhere, and without a token."""
    region: list[Word] = []
    opened: list[str] = []
    for word in tokens:
        if word.line < unit.first:
            continue
        if word.line > unit.last and not opened:
            break
        region.append(word)
        if word.text in _OPENING:
            opened.append(word.text)
        elif word.text in _CLOSING and (not opened or opened.pop() != _OPENING[_CLOSING.index(word.text)]):
            return None
    return None if opened else region or None


def _refused(unit: Unit) -> list[tuple[Word, str]] | None:
    """What is put in place of which tokens where the unit is one function or class; ``None`` where it is not."""
    declared, region = unit.members[0], unit.region
    if region is None or len(unit.members) != 1 or declared.body is None:
        return None
    line = declared.tokens[declared.body].line
    opening = next((at for at, word in enumerate(region) if word.text == "{" and word.line == line), None)
    if opening is None:
        return None
    texts = [word.text for word in region]
    end = behind(texts, opening)
    head, rest = texts[:opening], texts[end:]
    keyword = next((at for at, word in enumerate(head) if word in CLASSES), None)
    if rest == [";"] and keyword is not None and "(" not in outside_attributes(head[keyword:]):
        if any(word.text == "friend" for word in region[opening:end]):
            return None  # its functions would be gone
        base = next((at for at in range(keyword, opening) if head[at] == ":"), opening)
        return [(word, "") for word in region[base:end]]
    if rest or "(" not in head or "=" in outer(head):
        return None
    return [(region[opening], "= delete;"), *((word, "") for word in region[opening + 1 : end])]


def _is_kept(declared: Declaration) -> bool:
    """Whether it is none that can be taken out: an alias or use of a namespace, assembly."""
    head = [token.text for token in declared.tokens[:2]]
    return head[0] in ("namespace", "asm", "__asm__") or head == ["using", "namespace"]


def _instantiates(declared: Declaration) -> bool:
    """Whether it is an explicit instantiation, which changes nothing for others."""
    return declared.tokens[0].text == "template" and declared.tokens[1].text != "<"
