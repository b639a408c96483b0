"""The names that a declaration at namespace level gives to what others may use.

Whoever uses one of them is lost with it: without the declaration the name may be found elsewhere, in a header or an
outer namespace. So rather too many names than too few, and ``None`` where they cannot be determined.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from conformance.port.definitions.preprocess import OPENING, behind, is_word, outer

CLASSES = frozenset(("class", "struct", "union"))

_WITH_ARGUMENTS = frozenset(
    {"__attribute__", "__attribute", "__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__declspec"}
    | {"alignas", "_Alignas", "__align__", "__builtin_align__", "noexcept", "explicit", "asm", "__asm__"}
)
_TYPES_OF = frozenset(("decltype", "typeof", "__typeof__", "__typeof"))
_BEFORE_A_NAME = frozenset(("*", "&", "const", "volatile", "__restrict__", "__restrict", "restrict"))
_STOPS = ("=", "[", "(", "{")
_AFTER_A_NAME = (*_STOPS, ",", ":")
_SPECIFIERS = frozenset(
    {"const", "constexpr", "consteval", "constinit", "extern", "friend", "inline", "static", "thread_local", "typedef"}
    | {"typename", "virtual", "volatile", "__extension__", "__inline", "__inline__", "__restrict", "__restrict__"}
    | {"__constant__", "__device__", "__forceinline__", "__global__", "__host__", "__managed__", "__noinline__"}
    | {"__shared__", "__grid_constant__"}
)
_TYPES = frozenset(
    {"auto", "bool", "char", "char8_t", "char16_t", "char32_t", "double", "float", "int", "long", "short", "signed"}
    | {"unsigned", "void", "wchar_t", "__int128", "_Float16", "__bf16"}
)
_NO_NAMES = _SPECIFIERS | _TYPES | CLASSES | {"enum", "final", "template", "using", "concept", "requires"}
_TRAITS = frozenset(("decltype", "requires", "noexcept", "sizeof"))


def declared_names(declaration: Sequence[str]) -> frozenset[str] | None:
    """The names that the declaration of these tokens introduces; ``None`` where that cannot be determined (an
    operator)."""
    tokens = outside_attributes(declaration)
    while tokens[-1:] == [";"]:
        tokens.pop()
    if tokens[:1] == ["extern"]:
        tokens = tokens[2:] if tokens[1:2] and tokens[1].startswith('"') else tokens[1:]
    while tokens[:1] == ["template"]:
        tokens = tokens[_behind_angles(tokens, 1) if tokens[1:2] == ["<"] else 1 :]
    if not tokens or "friend" in tokens or "requires" in outer(tokens):
        return None
    if tokens[0] == "using":
        return _used(tokens[1:])
    if tokens[0] == "concept":
        return frozenset(tokens[1:2])
    key = _first(tokens, (*CLASSES, "enum", *_STOPS))
    if tokens[key : key + 1] and tokens[key] not in _STOPS:
        return _of_class(tokens[key:])
    return _declarators(tokens)


def probes(tokens: Sequence[str], body: int | None, names: frozenset[str]) -> bool:
    """Whether a definition may be a template that asks whether an expression with ``names`` compiles, and does
    something else if it does not.

    A function asks that before its ``body``, or by ``requires``; a class in its body too.
    """
    if "template" not in tokens:
        return False
    head = tokens[:body]
    while head[:2] == ["template", "<"]:
        head = head[_behind_angles(head, 1) :]
    whole = "requires" in tokens or not CLASSES.isdisjoint(head)
    asked = tokens if whole else tokens[:body]
    return not _TRAITS.isdisjoint(asked) and not names.isdisjoint(asked)


def specialises(declaration: Sequence[str]) -> bool:
    """Whether the declaration specialises a template, whole or in part."""
    tokens = outside_attributes(declaration)
    if tokens[:3] == ["template", "<", ">"]:
        return True
    while tokens[:2] == ["template", "<"]:
        tokens = tokens[_behind_angles(tokens, 1) :]
    key = next((at for at, token in enumerate(tokens) if token not in _SPECIFIERS), len(tokens))
    head = tokens[key : key + _first(tokens[key:], ("{", ":", "(", "="))]
    return bool(head) and head[0] in CLASSES and "<" in head


def outside_attributes(tokens: Sequence[str]) -> list[str]:
    """``tokens`` without attributes and their arguments, and with ``auto`` in place of ``decltype(...)``."""
    result: list[str] = []
    at = 0
    while at < len(tokens):
        if tokens[at] == "[[":
            at = behind(tokens, at)
        elif tokens[at] in _TYPES_OF or tokens[at] in _WITH_ARGUMENTS:
            result += ["auto"] if tokens[at] in _TYPES_OF else []
            at = behind(tokens, at + 1) if tokens[at + 1 : at + 2] == ["("] else at + 1
        else:
            result.append(tokens[at])
            at += 1
    return result


def _used(tokens: Sequence[str]) -> frozenset[str] | None:
    """Of ``using NAME = ...`` and ``using A::NAME, B::NAME``; of ``using enum`` none can be determined."""
    if "=" in tokens:
        return frozenset(tokens[:1]) if tokens[1] == "=" else None
    if not tokens or tokens[0] in ("enum", "namespace"):
        return None
    names = [segment[-1] for segment in _segments(tokens) if segment]
    return frozenset(names) if all(map(_can_be_given, names)) else None


def _of_class(tokens: Sequence[str]) -> frozenset[str] | None:
    """Of a class or an enum: its name, its enumerators, and the variables that it is the type of."""
    is_enum = tokens[0] == "enum"
    scoped = is_enum and tokens[1:2] and tokens[1] in CLASSES
    opening = _first(tokens, _STOPS)
    base = _first(tokens[:opening], (":",))
    head = outer(tokens[:base], ("<",), _behind_angles)
    names = {token for at, token in enumerate(head) if _can_be_given(token) and head[at + 1 : at + 2] != ["::"]}
    if tokens[opening : opening + 1] != ["{"]:
        # `struct A;`, or a function or variables of the type `struct A`.
        more = _declarators(tokens) if len(names) != 1 or opening < len(tokens) else frozenset[str]()
        return None if more is None or not names else more | names
    end = behind(tokens, opening)
    if is_enum and not scoped:
        enumerators = [segment[0] for segment in _segments(tokens[opening + 1 : end - 1]) if segment]
        names |= {token for token in enumerators if _can_be_given(token)}
    if end < len(tokens):
        variables = _declarators(["auto", *tokens[end:]])
        return None if variables is None else frozenset(names | variables)
    # The members of a union without a name are named as if they stood outside of it.
    return frozenset(names) or None


def _declarators(tokens: Sequence[str]) -> frozenset[str] | None:
    """Of functions and variables, whose type comes before the first of them."""
    at = _first(tokens, _AFTER_A_NAME)
    head, rest = outer(tokens[:at], ("<",), _behind_angles), tokens[at:]
    if not head or "operator" in tokens[:at]:
        return None
    if rest[:1] == ["["] and not _can_be_given(head[-1]):
        # auto [a, b] = ...
        end = behind(rest, 0)
        inside = [token for token in rest[1 : end - 1] if token != ","]
        return frozenset(inside) if inside and all(map(_can_be_given, inside)) else None
    if rest[:1] == ["("] and not _can_be_given(head[-1]):
        name = _in_parentheses(rest[1 : behind(rest, 0) - 1])
    else:
        # Of one word alone it is not known whether it is a type, a macro or the name.
        typed = sum(_can_be_given(token) or token in _TYPES for token in head) > 1
        name = head[-1] if typed and _can_be_given(head[-1]) else None
    if name is None:
        return None
    names = {name}
    for segment in list(_segments(rest))[1:]:
        start = next((place for place, token in enumerate(segment) if token not in _BEFORE_A_NAME), len(segment))
        if segment[start : start + 1] == ["("]:
            inner = _in_parentheses(segment[start + 1 : behind(segment, start) - 1])
            names |= set() if inner is None else {inner}
        elif segment[start : start + 1] and _can_be_given(segment[start]):
            then = segment[start + 1 : start + 2]
            names |= {segment[start]} if not then or then[0] in _AFTER_A_NAME else set()
    return frozenset(names)


def _in_parentheses(tokens: Sequence[str]) -> str | None:
    """The name in ``(*name)``, ``(&name)[3]``, ``(T::*name)(int)`` and ``(name)``."""
    return next(
        (token for at, token in enumerate(tokens) if _can_be_given(token) and tokens[at + 1 : at + 2] != ["::"]), None
    )


def _can_be_given(token: str) -> bool:
    return is_word(token) and token not in _NO_NAMES


def _first(tokens: Sequence[str], stops: Collection[str]) -> int:
    """Where the first of ``stops`` outside of angle brackets is, else the end."""
    at = 0
    while at < len(tokens) and tokens[at] not in stops:
        at = _behind_angles(tokens, at) if tokens[at] == "<" else at + 1
    return at


def _segments(tokens: Sequence[str]) -> Iterator[list[str]]:
    """``tokens`` between the commas outside of brackets; ``<`` may be a comparison, so it is none."""
    segment: list[str] = []
    at = 0
    while at < len(tokens):
        if tokens[at] == ",":
            yield segment
            segment, at = [], at + 1
            continue
        end = behind(tokens, at) if tokens[at] in OPENING else at + 1
        segment += tokens[at:end]
        at = end
    yield segment


def _behind_angles(tokens: Sequence[str], at: int) -> int:
    depth = 0
    while at < len(tokens):
        if tokens[at] in OPENING:
            at = behind(tokens, at)
            continue
        depth += (tokens[at] == "<") - (tokens[at] == ">")
        at += 1
        if depth == 0:
            break
    return at
