"""A C++ parameter list, from tokens to types and names; C types as the dtypes of the specs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.dtypes import DTYPES, FLOATS
from conformance.port.definitions.preprocess import behind, is_word

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
    """The type and the name (or "") of each parameter. ``tokens`` are those between the parentheses of a parameter
    list.

    ``aliases`` maps the name of a typedef to the words of its type.
    """
    if list(tokens) in ([], ["void"]):
        return
    for part in _split(tokens, ","):
        yield _parameter(part, aliases)


def _parameter(tokens: Sequence[str], aliases: Mapping[str, tuple[str, ...]]) -> tuple[str, str]:
    tokens = _without_attributes(next(_split(tokens, "="), []))
    stars = tokens.count("[")
    if stars:
        tokens = tokens[: tokens.index("[")]
    at = _name_at(tokens)
    name = tokens[at] if at is not None else ""
    kind = [token for index, token in enumerate(tokens) if index != at] + ["*"] * (stars > 0)
    return _spelled(_resolved(kind, aliases)), name


def _without_attributes(tokens: Sequence[str]) -> list[str]:
    result: list[str] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token in ("__attribute__", "alignas", "[["):
            position = behind(tokens, position if token == "[[" else position + 1)
            continue
        if token not in _DROPPED:
            result.append(token)
        position += 1
    return result


def _name_at(tokens: Sequence[str]) -> int | None:
    """Where the parameter's name is: the last identifier, when a type comes before it."""
    if "(" in tokens and "*" in tokens[tokens.index("(") :]:  # void (*name)(int)
        star = tokens.index("*", tokens.index("("))
        return star + 1 if star + 1 < len(tokens) and is_word(tokens[star + 1]) else None
    if not tokens or not is_word(tokens[-1]) or tokens[-1] in _TYPE_WORDS | _QUALIFIERS:
        return None
    before = [token for token in tokens[:-1] if token not in _QUALIFIERS]
    return len(tokens) - 1 if before and before[-1] != "::" else None


def _resolved(tokens: Sequence[str], aliases: Mapping[str, tuple[str, ...]]) -> list[str]:
    result: list[str] = []
    for index, token in enumerate(tokens):
        scoped = index > 0 and tokens[index - 1] == "::"
        seen = {token}
        spelled: tuple[str, ...] = (token,)
        while not scoped and len(spelled) == 1 and spelled[0] in aliases and aliases[spelled[0]] != spelled:
            spelled = aliases[spelled[0]]
            if spelled[0] in seen:
                break
            seen.add(spelled[0])
        result.extend(other for other in spelled if other not in _DROPPED)
    return result


def _spelled(tokens: Sequence[str]) -> str:
    text = " ".join(tokens)
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


_OTHER_FLOAT8 = re.compile(r"e5m2|fnuz|e8m0|e3m4|e4m3b11|f(?:p|loat)?8_?x_?[24]", re.IGNORECASE)
_QUALIFIER = re.compile(r"\b(?:const|volatile|__restrict__|__restrict|restrict)\b|\bstd::")


@dataclass(frozen=True)
class CType:
    """A parameter's type in C.

    ``base`` is the type without pointers and qualifiers, ``pointers`` is the number of pointers that lead to it.
    ``dtypes`` are those of the specs that it may be; there are none for a type that the source defines.
    """

    base: str
    dtypes: frozenset[str]
    pointers: int

    def is_dtype(self, dtype: str, pointer: bool) -> bool:
        """Whether a spec's parameter with ``dtype`` and ``pointer`` has this type."""
        return dtype in self.dtypes and self.pointers == int(pointer)


def c_type(text: str) -> CType:
    """The type that ``text`` spells, such as ``const float *``."""
    pointers = text.count("*")
    base = " ".join(_QUALIFIER.sub(" ", text.replace("*", " ").replace("&", " ")).split())
    return CType(base, frozenset(name for name, row in DTYPES.items() if base in row.c), pointers)


def is_other_float8(name: str) -> bool:
    """Whether the type ``name`` is an 8-bit float that no dtype is, or a vector of 8-bit floats.

    ``f8e4m3`` is OCP's e4m3 (e4m3fn), HIP's ``__hip_fp8_e4m3``. The other formats have the same size and other values:
    e5m2, and AMD's FNUZ forms on gfx942.
    """
    return _OTHER_FLOAT8.search(_last(name)) is not None and own_float(name) is None


def own_float(name: str) -> str | None:
    """The dtype that a type of the port's own seems to be, judged by its ``name``; ``None`` for none.

    It is the dtype whose pattern matches most of the last part of the name. If that looks like another 8-bit float, the
    match has to contain what does.
    """
    last = _last(name)
    other = _OTHER_FLOAT8.search(last)
    start, end = other.span() if other is not None else (len(last), 0)
    matching = [
        (len(match.group()), row.name)
        for row in FLOATS
        if row.own is not None
        for match in row.own.finditer(last)
        if match.start() <= start and end <= match.end()
    ]
    return max(matching, key=lambda pair: pair[0], default=(0, None))[1]


def _last(name: str) -> str:
    return name.rpartition("::")[2]
