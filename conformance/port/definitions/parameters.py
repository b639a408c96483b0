"""A C++ parameter list, from tokens to types and names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

_TYPE_WORDS = frozenset(
    [
        "void",
        "bool",
        "char",
        "short",
        "int",
        "long",
        "float",
        "double",
        "signed",
        "unsigned",
        "wchar_t",
        "char8_t",
        "char16_t",
        "char32_t",
        "auto",
    ]
)
_QUALIFIERS = frozenset(["const", "volatile", "struct", "class", "enum", "union", "typename", "register"])
_DROPPED = frozenset(
    ["__restrict__", "__restrict", "restrict", "register", "struct", "class", "enum", "union", "typename"]
)
_OPENING = {"(": ")", "[": "]", "{": "}", "[[": "]]", "<": ">"}


def parameters(tokens: Sequence[str], aliases: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Type in words and name (or an empty one) of each parameter; ``tokens`` are those between the parentheses.

    ``aliases`` maps a typedef's name to the words of its type.
    """
    if list(tokens) in ([], ["void"]):
        return
    for part in _split(tokens, ","):
        yield _parameter(part, aliases)


def _parameter(tokens: Sequence[str], aliases: Mapping[str, tuple[str, ...]]) -> tuple[str, str]:
    words = _without_attributes(next(_split(tokens, "="), []))
    stars = words.count("[")
    if stars:
        words = words[: words.index("[")]
    at = _name_at(words)
    name = words[at] if at is not None else ""
    kind = [word for index, word in enumerate(words) if index != at] + ["*"] * (stars > 0)
    return _spelled(_resolved(kind, aliases)), name


def _without_attributes(tokens: Sequence[str]) -> list[str]:
    result: list[str] = []
    position = 0
    while position < len(tokens):
        word = tokens[position]
        if word in ("__attribute__", "alignas", "[["):
            position = _behind(tokens, position if word == "[[" else position + 1)
            continue
        if word not in _DROPPED:
            result.append(word)
        position += 1
    return result


def _behind(tokens: Sequence[str], position: int) -> int:
    depth = 0
    for index in range(position, len(tokens)):
        depth += (tokens[index] in ("(", "[[")) - (tokens[index] in (")", "]]"))
        if depth == 0:
            return index + 1
    return len(tokens)


def _name_at(words: Sequence[str]) -> int | None:
    """Where the parameter's name is: the last identifier, when a type comes before it."""
    if "(" in words and "*" in words[words.index("(") :]:  # void (*name)(int)
        star = words.index("*", words.index("("))
        return star + 1 if star + 1 < len(words) and _is_word(words[star + 1]) else None
    if not words or not _is_word(words[-1]) or words[-1] in _TYPE_WORDS | _QUALIFIERS:
        return None
    before = [word for word in words[:-1] if word not in _QUALIFIERS]
    return len(words) - 1 if before and before[-1] != "::" else None


def _is_word(text: str) -> bool:
    return text[0].isalpha() or text[0] in "_$"


def _resolved(words: Sequence[str], aliases: Mapping[str, tuple[str, ...]]) -> list[str]:
    result: list[str] = []
    for index, word in enumerate(words):
        scoped = index > 0 and words[index - 1] == "::"
        seen = {word}
        spelled: tuple[str, ...] = (word,)
        while not scoped and len(spelled) == 1 and spelled[0] in aliases and aliases[spelled[0]] != spelled:
            spelled = aliases[spelled[0]]
            if spelled[0] in seen:
                break
            seen.add(spelled[0])
        result.extend(other for other in spelled if other not in _DROPPED)
    return result


def _spelled(words: Sequence[str]) -> str:
    text = " ".join(words)
    for tight in (" :: ", ":: ", " ::"):
        text = text.replace(tight, "::")
    return text.replace(" < ", "<").replace(" >", ">").replace(" ,", ",").replace("* *", "**")


def _split(tokens: Sequence[str], sign: str) -> Iterator[list[str]]:
    """``tokens`` in parts, cut at every ``sign`` outside of brackets."""
    part: list[str] = []
    waiting: list[str] = []
    for token in tokens:
        if token in _OPENING:
            waiting.append(_OPENING[token])
        elif waiting and token == waiting[-1]:
            waiting.pop()
        if token == sign and not waiting:
            yield part
            part = []
        else:
            part.append(token)
    yield part
