"""The definitions of a source as its files spell them, and how one is taken out without moving anything else.

A definition that is taken out leaves its comments, its line breaks and its preprocessor directives behind, but for
pragmas of statements, so that no line number changes. What others may use is not removed but refused: a function
becomes ``= delete``, a class incomplete, so that whoever uses it does not compile either, and nobody finds another
overload or specialisation in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from conformance.port.definitions.kernels import Declaration

Way = Literal["refused", "removed"]
"""How a definition is taken out."""

_TOKEN = re.compile(
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
_ATTRIBUTES = frozenset(("__attribute__", "__launch_bounds__", "alignas", "noexcept", "decltype", "__align__"))
_NOT_DEFINITIONS = frozenset(("static_assert", "_Static_assert", "asm", "__asm__", "namespace"))
_CLASSES = frozenset(("class", "struct", "union"))


class Word(NamedTuple):
    """A token of a file, between two offsets."""

    text: str
    start: int
    end: int
    line: int


@dataclass(frozen=True, eq=False)
class Unit:
    """Definitions that stand on the same lines of a file, as those of one use of a macro do: what is taken out at once.

    ``region`` are their tokens in the file, ``None`` where they cannot be told from their neighbours'. ``kernels`` maps
    the kernels among them to their lines, ``names`` are of all others.
    """

    file: Path
    first: int
    last: int
    members: tuple[Declaration, ...]
    region: tuple[Word, ...] | None = None

    @property
    def kernels(self) -> dict[str, int]:
        return {each.kernel.name: each.kernel.line for each in self.members if each.kernel is not None}

    @property
    def names(self) -> frozenset[str]:
        """Of what others may use."""
        return frozenset(filter(None, (_name(each) for each in self.members if each.kernel is None)))

    @property
    def is_used(self) -> bool:
        """Whether other definitions may use one of these."""
        return any(each.kernel is None and not _instantiates(each) for each in self.members)

    @property
    def has_names(self) -> bool:
        """Whether all that others may use has a name that can be told."""
        return all(_name(each) for each in self.members if each.kernel is None and not _instantiates(each))

    def mentions(self, names: Iterable[str]) -> bool:
        wanted = frozenset(names)
        return any(token.text in wanted for each in self.members for token in each.tokens)


def units(declarations: Sequence[Declaration], read: Callable[[Path], str]) -> list[Unit]:
    """``declarations`` by the lines that they stand on, without those that cannot be taken out; ``read`` gives a file's
    text."""
    rows = []
    for each in declarations:
        start = each.tokens[0]
        if start.text in _NOT_DEFINITIONS or [token.text for token in each.tokens[:2]] == ["using", "namespace"]:
            continue
        last = max(token.line for token in each.tokens if token.file == start.file)
        rows.append((Path(start.file).resolve(), start.line, last, each))
    rows.sort(key=lambda row: (str(row[0]), row[1]))
    found: list[Unit] = []
    for file, first, last, each in rows:
        if found and found[-1].file == file and first <= found[-1].last:
            found[-1] = Unit(file, found[-1].first, max(last, found[-1].last), (*found[-1].members, each))
        else:
            found.append(Unit(file, first, last, (each,)))
    words = {file: _words(read(file)) for file in {unit.file for unit in found}}
    following = [*found[1:], None]
    return [_placed(unit, words[unit.file], other) for unit, other in zip(found, following, strict=True)]


def _placed(unit: Unit, words: Sequence[Word], following: Unit | None) -> Unit:
    """``unit`` with its tokens, and its last line as the file has it."""
    region = _region(words, unit)
    if region is None:
        return unit
    last = region[-1].line
    if following is not None and following.file == unit.file and following.first <= last:
        return unit
    return replace(unit, last=last, region=tuple(region))


def unit_at(found: Sequence[Unit], file: Path, line: int) -> Unit | None:
    """The unit that covers ``line`` of ``file``."""
    return next((unit for unit in found if unit.file == file and unit.first <= line <= unit.last), None)


def without(text: str, taken: Mapping[Unit, Way]) -> str | None:
    """``text`` of a file without what is ``taken`` from it; ``None`` where that cannot be cut out."""
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
    """Whether ``unit`` is a function or a class whose body can be left out."""
    return _refused(unit) is not None


def _words(text: str) -> list[Word]:
    words, line, counted = [], 1, 0
    for match in _TOKEN.finditer(text):
        if match["kept"] is None:
            line += text.count("\n", counted, match.start())
            counted = match.start()
            words.append(Word(match[0], match.start(), match.end(), line))
    return words


def _region(words: Sequence[Word], unit: Unit) -> list[Word] | None:
    """The tokens on the unit's lines, and on to where the last bracket closes that opens there: a preprocessor puts the
    use of a macro on one line. ``None`` where a bracket closes that opens elsewhere, and without a token."""
    region: list[Word] = []
    opened: list[str] = []
    for word in words:
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
    closing = _closing(region, opening)
    head, behind = [word.text for word in region[:opening]], [word.text for word in region[closing + 1 :]]
    keyword = next((at for at, word in enumerate(head) if word in _CLASSES), None)
    if behind == [";"] and keyword is not None and "(" not in _outside_attributes(head[keyword:]):
        base = next((at for at in range(keyword, opening) if head[at] == ":"), opening)
        return [(word, "") for word in region[base : closing + 1]]
    if behind or "(" not in head or "=" in _outer(head):
        return None
    return [(region[opening], "= delete;"), *((word, "") for word in region[opening + 1 : closing + 1])]


def _closing(region: Sequence[Word], opening: int) -> int:
    depth = 0
    for at in range(opening, len(region)):
        depth += (region[at].text == "{") - (region[at].text == "}")
        if depth == 0:
            return at
    return len(region) - 1


def _outer(words: Sequence[str]) -> list[str]:
    depth, result = 0, []
    for word in words:
        depth += (word in _OPENING) - (word in _CLOSING)
        if depth == 0:
            result.append(word)
    return result


def _outside_attributes(words: Sequence[str]) -> list[str]:
    """``words`` without attributes and their arguments."""
    result: list[str] = []
    at = 0
    while at < len(words):
        if words[at] in _ATTRIBUTES:
            depth, at = 0, at + 1
            while at < len(words):
                depth += (words[at] == "(") - (words[at] == ")")
                at += 1
                if depth <= 0:
                    break
            continue
        result.append(words[at])
        at += 1
    return result


def _instantiates(declared: Declaration) -> bool:
    """Whether it is an explicit instantiation, which changes nothing for others."""
    return declared.tokens[0].text == "template" and declared.tokens[1].text != "<"


def _name(declared: Declaration) -> str | None:
    """The name that a declaration gives to a function, a class, a type or a variable, as far as it can be told."""
    words = _outside_attributes([token.text for token in declared.tokens])
    head = words[: words.index("{")] if "{" in words else words
    if head[:1] == ["using"]:
        return head[1] if len(head) > 1 else None
    if head[:1] == ["typedef"]:
        return next((word for word in reversed(words) if _is_name(word)), None)
    if "(" in head and "=" not in head[: head.index("(")]:
        return _before_arguments(head[: head.index("(")])
    keyword = next((at for at, word in enumerate(head) if word in (*_CLASSES, "enum")), None)
    if keyword is not None and "=" not in head and head[:1] != ["template"]:
        return next((word for word in head[keyword + 1 :] if _is_name(word) and word not in _CLASSES), None)
    if keyword is not None and "=" not in head:
        last = max(at for at, word in enumerate(head) if word in (*_CLASSES, "enum"))
        return next((word for word in head[last + 1 :] if _is_name(word)), None)
    until = next((at for at, word in enumerate(head) if word in ("=", "[")), len(head))
    return next((word for word in reversed(head[:until]) if _is_name(word)), None)


def _before_arguments(head: Sequence[str]) -> str | None:
    """The name at the end of ``head``, without template arguments; none of an operator, which is used without it."""
    at, depth = len(head) - 1, 0
    while at > 0 and (head[at] == ">" or depth > 0):
        depth += (head[at] == ">") - (head[at] == "<")
        at -= 1
    named = "operator" not in head and at >= 0 and _is_name(head[at])
    return head[at] if named else None


def _is_name(word: str) -> bool:
    return word[0].isalpha() or word[0] in "_$"
