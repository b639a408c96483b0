"""Rust without its macros: what each use of a macro stands for is written in its place, line for line.

Uses of ``macro_rules!`` macros are expanded; ``format!`` and the like become plain calls, ``matches!`` a ``match``, and
``panic!`` or ``bail!`` a return of an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tree_sitter import Node

from conformance.upstream.rust import ancestors, field_of, matches, parse, path_of, query, text_of

_TOKEN = re.compile(
    r"""
      (?P<space>\s+|//[^\n]*|/\*.*?\*/)
    | (?P<token>
        b?r(?P<hashes>\#*)".*?"(?P=hashes)
      | b?"(?:[^"\\]|\\.)*"
      | b?'(?:[^'\\]|\\.[^']*)'
      | '[A-Za-z_]\w*
      | (?:r\#)?[A-Za-z_]\w*
      | [0-9](?:[0-9a-zA-Z_]|\.(?=[0-9]))*
      | ::|=>|->|\.\.=|\.\.\.|\.\.|&&|\|\||==|!=|<=|>=|<<|>>|[-+*/%^&|]=
      | .
      )
    """,
    re.VERBOSE | re.DOTALL,
)
OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = frozenset(OPENING.values())

_USES = query("(macro_invocation) @use")
_DEFINITIONS = query("(macro_definition) @definition")
_DEPTH = 8  # of macros that expand to macros
_DIVERGING = frozenset(("panic", "unreachable", "todo", "unimplemented", "bail", "compile_error"))
_CALLS = frozenset(("format", "format_args", "concat", "vec"))

Bound = dict[str, Any]
"""A macro's variables: the tokens of each as a tuple, in a repetition a list with one for each round."""

Macro = Sequence[tuple[list[str], list[str]]]
"""The rules of a ``macro_rules!`` macro: the tokens of each pattern, and those that it stands for."""


def expand(macro: Macro, text: str) -> str | None:
    """What a use of ``macro`` stands for; ``text`` is what is between its brackets. ``None`` where no rule matches."""
    for pattern, body in macro:
        bound: Bound = {}
        if _match(pattern, tokens_of(text), bound) == []:
            return " ".join(_transcribe(body, bound))
    return None


def _match(pattern: Sequence[str], given: list[str], bound: Bound) -> list[str] | None:
    """What is left of ``given`` behind ``pattern``, with its variables in ``bound``; ``None`` where it does not fit."""
    while pattern:
        if pattern[0] == "$" and pattern[1] == "(":
            inside, separator, pattern = _repetition(pattern)
            given = _rounds(inside, separator, given, bound)
        elif pattern[0] == "$" and pattern[2:3] == [":"]:
            name, kind, pattern = pattern[1], pattern[3], pattern[4:]
            end = _fragment(kind, given, pattern[:1])
            if end is None:
                return None
            bound[name], given = tuple(given[:end]), given[end:]
        elif given[:1] == [pattern[0]]:
            pattern, given = pattern[1:], given[1:]
        else:
            return None
    return given


def _repetition(tokens: Sequence[str]) -> tuple[Sequence[str], list[str], Sequence[str]]:
    """The inside and the separator of the ``$(...),*`` that ``tokens`` begin with, and what is behind it."""
    end = behind(tokens, 1)
    separator = [] if tokens[end] in ("*", "+", "?") else [tokens[end]]
    return tokens[2 : end - 1], separator, tokens[end + 1 + len(separator) :]


def _rounds(inside: Sequence[str], separator: list[str], given: list[str], bound: Bound) -> list[str]:
    rounds: list[Bound] = []
    waiting = given
    while waiting:
        once: Bound = {}
        left = _match(inside, waiting, once)
        if left is None or len(left) == len(waiting):
            break
        rounds.append(once)
        given = waiting = left
        if separator:
            if waiting[:1] != separator:
                break
            waiting = waiting[1:]
    for at, token in enumerate(inside[:-2]):
        if token == "$" and inside[at + 2] == ":":
            bound[inside[at + 1]] = [once[inside[at + 1]] for once in rounds]
    return given


def _fragment(kind: str, given: Sequence[str], following: Sequence[str]) -> int | None:
    """The number of tokens of a fragment of ``kind``, or ``None`` where there is none."""
    first = given[0] if given else ""
    if kind == "vis":
        return 0 if first != "pub" else behind(given, 1) if given[1:2] == ["("] else 1
    if not given:
        return None
    if kind in ("ident", "lifetime"):
        return 1 if re.match(r"[A-Za-z_]" if kind == "ident" else "'", first) else None
    if kind == "literal":
        return 1 + (first == "-") if re.match(r"""-|b?r?#*["'0-9]|true$|false$""", first) else None
    if kind in ("tt", "block"):
        return behind(given, 0) if first in OPENING else 1
    stops = set(following) - {"$"} or {",", ";", "=>"}
    end = angles = 0
    if kind == "expr" and first == "|":  # a closure's parameters
        end = (given.index("|", 1) if "|" in given[1:] else len(given) - 1) + 1
    while end < len(given) and (angles > 0 or given[end] not in stops) and given[end] not in CLOSING:
        if kind in ("ty", "path"):
            angles += {"<": 1, ">": -1, ">>": -2}.get(given[end], 0)
        end = behind(given, end) if given[end] in OPENING else end + 1
    return end or None


def _transcribe(body: Sequence[str], bound: Bound) -> list[str]:
    result: list[str] = []
    while body:
        following = body[1] if len(body) > 1 else ""
        if body[0] == "$" and following == "(":
            inside, separator, body = _repetition(body)
            lists = {name: bound[name] for name in inside if isinstance(bound.get(name), list)}
            for number in range(max(map(len, lists.values()), default=0)):
                once = {name: rounds[number] for name, rounds in lists.items() if number < len(rounds)}
                result += [*(separator if number else []), *_transcribe(inside, bound | once)]
        elif body[0] == "$" and (following == "crate" or isinstance(bound.get(following), tuple)):
            words = bound.get(following, ("crate",))
            # A closure is called as one expression.
            result += ["(", *words, ")"] if words[:1] == ("|",) else words
            body = body[2:]
        else:
            result.append(body[0])
            body = body[1:]
    return result


def tokens_of(text: str) -> list[str]:
    """The tokens of ``text``, without blanks and comments."""
    return [match["token"] for match in _TOKEN.finditer(text) if match["token"]]


def behind(tokens: Sequence[str], position: int) -> int:
    """The position after the bracket that closes the one at ``position``; the end where none does."""
    depth = 0
    for index in range(position, len(tokens)):
        depth += (tokens[index] in OPENING) - (tokens[index] in CLOSING)
        if depth == 0:
            return index + 1
    return len(tokens)


def definitions(root: Node) -> Iterator[tuple[str, Macro]]:
    """The ``macro_rules!`` macros of a file, by name."""
    for node in matches(_DEFINITIONS, root):
        rules = [rule for rule in node.named_children if rule.type == "macro_rule"]
        sides = [[tokens_of(text_of(field_of(rule, side)))[1:-1] for side in ("left", "right")] for rule in rules]
        yield text_of(field_of(node, "name")), [(left, right) for left, right in sides]


def expanded(
    source: bytes, known: Callable[[str], Sequence[Macro]], matters: Callable[[str], bool], used: Callable[[str], None]
) -> tuple[bytes, Node]:
    """``source`` without macros, and its syntax tree.

    ``known`` gives the macros with a name, ``matters`` says whether a text contains a load, and ``used`` is told the
    name of each macro that was expanded.
    """
    root = parse(source)
    for _ in range(_DEPTH):
        edits: list[tuple[int, int, str]] = []
        for node in matches(_USES, root):
            if edits and node.start_byte < edits[-1][1]:
                continue
            plain = _plain(node, known, matters, used)
            if plain is not None:
                lost = text_of(node).count("\n") - plain.count("\n")
                edits.append((node.start_byte, node.end_byte, plain + "\n" * lost))
        if not edits:
            break
        for begin, end, plain in reversed(edits):
            source = source[:begin] + plain.encode() + source[end:]
        root = parse(source)
    return source, root


def _plain(
    node: Node, known: Callable[[str], Sequence[Macro]], matters: Callable[[str], bool], used: Callable[[str], None]
) -> str | None:
    """What the use of a macro is written as, or ``None`` where it stays."""
    name = path_of(field_of(node, "macro") or node)[-1]
    tree = next((child for child in node.named_children if child.type == "token_tree"), None)
    inside = text_of(tree)[1:-1]
    if name in _DIVERGING:
        return "return Err(0)"
    if name in _CALLS:
        return f"{name} ({inside})" if name != "vec" or ";" not in inside else None
    if name == "stringify":
        return f'"{inside.strip()}"'
    if name == "matches":
        tokens = tokens_of(inside)
        comma = next((at for at in _outside(tokens) if tokens[at] == ","), len(tokens))
        pattern = " ".join(tokens[comma + 1 :]).rstrip(", ")
        return f"(match {' '.join(tokens[:comma])} {{ {pattern} => true, _ => false }})"
    for macro in known(name):
        expansion = expand(macro, inside)
        if expansion is not None:
            used(name)
            around = next((outer.type for outer, _ in ancestors(node) if outer.type != "expression_statement"), "")
            return expansion if around in ("source_file", "declaration_list") else f"{{ {expansion} }}"
    return f"{name} ({inside})" if matters(inside) else None


def _outside(tokens: Sequence[str]) -> Iterator[int]:
    """The positions that are in no bracket."""
    position = 0
    while position < len(tokens):
        yield position
        position = behind(tokens, position) if tokens[position] in OPENING else position + 1
