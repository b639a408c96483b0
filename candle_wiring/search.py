"""All names that the calls of loads can ask for, one way through the code after the other."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tree_sitter import Node

from candle_wiring.evaluate import Evaluator
from candle_wiring.index import Function
from candle_wiring.paths import (
    MOST_WAYS,
    Dead,
    Frame,
    Nobodys,
    Obj,
    Returned,
    Str,
    TooMany,
    Undecided,
    Way,
)
from candle_wiring.program import Program
from conformance.upstream.rust import ancestors, children, field_of, text_of


@dataclass
class Request:
    """A name that the load at ``at`` can ask for.

    ``places`` are the literals that the name consists of. ``callers`` are the calls that hand over the name or its
    types, and ``asked_at`` is the place that asks: the call that hands over the name, else the load. ``words`` are
    those of the load's arguments.
    """

    text: Str
    at: str
    places: dict[str, None] = field(default_factory=dict)
    callers: dict[str, None] = field(default_factory=dict)
    asked_at: dict[str, None] = field(default_factory=dict)
    words: frozenset[str] = frozenset()


def requests(program: Program, call: Node, function: Function) -> list[Request]:
    """The names that the load ``call`` in ``function`` can ask for. Raises ``TooMany``."""
    found: dict[tuple[str | None, ...], Request] = {}
    at = function.scope.place(_name_in(call))
    words = frozenset(re.findall(r"\w+", text_of(field_of(call, "arguments"))))
    script: list[int] | None = []
    ways, nobodys = 0, False
    while script is not None:
        ways += 1
        if ways > MOST_WAYS:
            raise TooMany(f"it can be reached in more than {MOST_WAYS} ways")
        way = Way(script)
        evaluator = Evaluator(program, way)
        frame = way.frame(function, function.scope)
        try:
            evaluator.assume(call, frame)
            text = _asked(evaluator, call, frame)
            if _reachable(evaluator, call, frame):
                request = found.setdefault(text.parts, Request(text, at, words=words))
                request.places |= dict.fromkeys(text.places)
                request.callers |= dict.fromkeys(_chain(frame))
                request.asked_at[way.handed or at] = None
        except Nobodys:
            nobodys = True
        except (Dead, Returned):
            pass
        script = way.next_script()
    if not found and not nobodys:  # nothing that was followed leads to it
        found[None,] = Request(Str((None,)), at, asked_at={at: None}, words=words)
    # A number without a limit stands for those that were tried one by one.
    unlimited = [
        re.compile("".join("[0-9]+" if part is None else re.escape(part) for part in parts))
        for parts in found
        if None in parts
    ]
    return [
        request
        for request in found.values()
        if request.text.known is None or not any(one.fullmatch(request.text.known) for one in unlimited)
    ]


def _asked(evaluator: Evaluator, call: Node, frame: Frame) -> Str:
    """The first argument that is text, on this way."""
    for argument in children(field_of(call, "arguments")):
        value = evaluator.value(argument, frame)
        if isinstance(value, Str):
            return value
        if isinstance(value, Obj) and value.type.name in ("str", "String"):
            return Str((None,))
    return Str((None,))


def _chain(frame: Frame) -> list[str]:
    """The calls through which the load is reached, from the outermost."""
    places: list[str] = []
    while frame.call is not None:
        places.insert(0, frame.call[1].scope.place(frame.call[0]))
        frame = frame.call[1]
    return places[-3:]


def _name_in(call: Node) -> Node:
    target = field_of(call, "function") or call
    if target.type == "generic_function":
        target = field_of(target, "function") or target
    return field_of(target, "field") or field_of(target, "name") or target


def _reachable(evaluator: Evaluator, call: Node, frame: Frame) -> bool:
    """Whether control comes to the load, and to all calls and assignments on the way, with what was decided."""
    way = evaluator.way
    way.open = False
    sites = [(call, frame), *way.sites]
    try:
        for node, around in sites:
            evaluator.assume(node, around)
    except Dead:
        return False
    if any(evaluator.truth(node, around) is (not truth) for node, around, truth in way.conditions):
        return False
    return all(_reached(evaluator, node, around) for node, around in sites)


def _reached(evaluator: Evaluator, node: Node, frame: Frame) -> bool:
    for outer, child in ancestors(node):
        match outer.type:
            case "block":
                before = [one for one in outer.named_children if one.end_byte <= child.start_byte]
                if any(evaluator.may_leave(one) and _leaves(evaluator, one, frame) for one in before):
                    return False
            case "if_expression" | "while_expression" if child != field_of(outer, "condition"):
                condition = field_of(outer, "condition")
                wanted = child != field_of(outer, "alternative")
                if condition is not None and evaluator.truth(condition, frame) is (not wanted):
                    return False
            case "match_arm" if child == field_of(outer, "value"):
                if not _taken(evaluator, outer, frame):
                    return False
            case "function_item":
                return True
    return True


def _taken(evaluator: Evaluator, arm: Node, frame: Frame) -> bool:
    """Whether a ``match`` may come to ``arm``."""
    body = arm.parent
    if body is None or body.parent is None:
        return True
    try:
        value = evaluator.value(field_of(body.parent, "value"), frame)
    except Undecided:
        return True
    for one in children(body):
        pattern = field_of(one, "pattern")
        if one.type != "match_arm" or pattern is None:
            continue
        guard = field_of(pattern, "condition")
        try:
            fits = evaluator.bind(pattern, value, frame, {}, False)
        except Undecided:
            fits = None
        holds = True if guard is None else evaluator.truth(guard, frame)
        if one == arm:
            return fits is not False and holds is not False
        if fits and holds:
            return False
    return True


def _leaves(evaluator: Evaluator, statement: Node, frame: Frame) -> bool:
    """Whether control certainly leaves the function in ``statement``."""
    try:
        evaluator.run(statement, frame)
    except Undecided:
        return False
    except (Returned, Dead):
        return True
    return False
