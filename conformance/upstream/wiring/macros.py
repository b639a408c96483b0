"""Expands ``macro_rules!`` macros, as far as kernel names go through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conformance.upstream.wiring.tokens import CLOSING, OPENING, behind, tokens_of

Binding = Mapping[str, "list[str] | list[Binding]"]


@dataclass(frozen=True)
class _Variable:
    name: str
    kind: str


@dataclass(frozen=True)
class _Repetition:
    parts: tuple[_Part, ...]
    separator: str | None


_Part = str | _Variable | _Repetition


@dataclass(frozen=True)
class Macro:
    """A ``macro_rules!`` macro: its rules, each a pattern and the tokens it stands for."""

    rules: tuple[tuple[tuple[_Part, ...], tuple[str, ...]], ...]

    @classmethod
    def of(cls, rules: Sequence[tuple[str, str]]) -> Macro:
        """From the source text of each rule's two sides, their outer brackets included."""
        return cls(tuple((_pattern(tokens_of(left)[1:-1]), tuple(tokens_of(right)[1:-1])) for left, right in rules))

    def expand(self, text: str) -> str | None:
        """What a use stands for, ``text`` being what is between its brackets; ``None`` where no rule fits."""
        given = tokens_of(text)
        for pattern, body in self.rules:
            bound: dict[str, list[str] | list[Binding]] = {}
            if _match(pattern, given, 0, bound) == len(given):
                return " ".join(_transcribe(body, bound))
        return None


def _pattern(tokens: Sequence[str]) -> tuple[_Part, ...]:
    parts: list[_Part] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token == "$" and tokens[position + 1] == "(":
            end = behind(tokens, position + 1)
            inside = _pattern(tokens[position + 2 : end - 1])
            separator = None if tokens[end] in ("*", "+", "?") else tokens[end]
            parts.append(_Repetition(inside, separator))
            position = end + (1 if separator is None else 2)
        elif token == "$" and tokens[position + 2 : position + 3] == [":"]:
            parts.append(_Variable(tokens[position + 1], tokens[position + 3]))
            position += 4
        else:
            parts.append(token)
            position += 1
    return tuple(parts)


def _match(
    pattern: Sequence[_Part], given: Sequence[str], position: int, bound: dict[str, list[str] | list[Binding]]
) -> int | None:
    """The position behind what ``pattern`` matches, with its variables in ``bound``; ``None`` where it does not."""
    for index, part in enumerate(pattern):
        if isinstance(part, str):
            if position >= len(given) or given[position] != part:
                return None
            position += 1
        elif isinstance(part, _Variable):
            following = pattern[index + 1] if index + 1 < len(pattern) else None
            end = _fragment(part.kind, given, position, following)
            if end is None:
                return None
            bound[part.name] = list(given[position:end])
            position = end
        else:
            position = _repeat(part, given, position, bound)
    return position


def _repeat(part: _Repetition, given: Sequence[str], position: int, bound: dict[str, list[str] | list[Binding]]) -> int:
    rounds: list[Binding] = []
    begin = position
    while begin < len(given):
        once: dict[str, list[str] | list[Binding]] = {}
        end = _match(part.parts, given, begin, once)
        if end is None or end == begin:
            break
        rounds.append(once)
        position = begin = end
        if part.separator is not None:
            if begin >= len(given) or given[begin] != part.separator:
                break
            begin += 1
    for name in _names(part.parts):
        rows: list[Binding] = [{name: once[name]} for once in rounds if name in once]
        bound[name] = rows
    return position


def _names(parts: Sequence[_Part]) -> list[str]:
    found: list[str] = []
    for part in parts:
        if isinstance(part, _Variable):
            found.append(part.name)
        elif isinstance(part, _Repetition):
            found += _names(part.parts)
    return found


def _fragment(kind: str, given: Sequence[str], position: int, following: _Part | None) -> int | None:
    """The position behind a fragment of ``kind``, or ``None`` where there is none."""
    if position >= len(given):
        return position if kind == "vis" else None
    token = given[position]
    if kind == "ident":
        return position + 1 if token[0].isalpha() or token[0] == "_" else None
    if kind == "literal":
        position += token == "-"
        literal = position < len(given) and (
            given[position][0] in "\"'0123456789" or given[position] in ("true", "false")
        )
        return position + 1 if literal or token.startswith(('b"', "r#", 'r"')) else None
    if kind == "lifetime":
        return position + 1 if token.startswith("'") else None
    if kind in ("tt", "block"):
        return behind(given, position) if token in OPENING else position + 1
    if kind == "vis":
        if token != "pub":
            return position
        return behind(given, position + 1) if given[position + 1 : position + 2] == ["("] else position + 1
    stops = {",", ";", "=>"} if not isinstance(following, str) else {following}
    end = position
    if kind == "expr" and token == "|":
        end = position + 1
        while end < len(given) and given[end] != "|":
            end += 1
        end += 1
    angles = 0
    while end < len(given) and (angles > 0 or given[end] not in stops) and given[end] not in CLOSING:
        if kind in ("ty", "path"):
            angles += {"<": 1, ">": -1, ">>": -2}.get(given[end], 0)
        end = behind(given, end) if given[end] in OPENING else end + 1
    return end if end > position else None


def _transcribe(body: Sequence[str], bound: Binding) -> list[str]:
    result: list[str] = []
    position = 0
    while position < len(body):
        token = body[position]
        following = body[position + 1] if position + 1 < len(body) else ""
        if token == "$" and following == "(":
            end = behind(body, position + 1)
            inside = body[position + 2 : end - 1]
            separator = None if end < len(body) and body[end] in ("*", "+", "?") else body[end]
            for number, once in enumerate(_rounds(inside, bound)):
                result += [separator] if number and separator else []
                result += _transcribe(inside, once)
            position = end + (1 if separator is None else 2)
        elif token == "$" and following == "crate":
            result.append("crate")
            position += 2
        elif token == "$" and following in bound:
            words = [word for word in bound[following] if isinstance(word, str)]
            # A closure is called as one expression.
            result += ["(", *words, ")"] if words[:1] == ["|"] else words
            position += 2
        else:
            result.append(token)
            position += 1
    return result


def _rounds(inside: Sequence[str], bound: Binding) -> list[Binding]:
    """One binding per round of a repetition: those of its variables that were matched repeatedly."""
    used = [inside[index + 1] for index, token in enumerate(inside[:-1]) if token == "$" and inside[index + 1] in bound]
    lists = {name: bound[name] for name in used if all(isinstance(once, Mapping) for once in bound[name])}
    length = max((len(rounds) for rounds in lists.values()), default=0)
    result: list[Binding] = []
    for number in range(length):
        once: dict[str, list[str] | list[Binding]] = dict(bound)
        for name, rounds in lists.items():
            if number < len(rounds):
                entry = rounds[number]
                assert isinstance(entry, Mapping)
                once[name] = entry[name]
        result.append(once)
    return result
