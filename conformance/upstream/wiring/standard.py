"""Methods of the standard library that kernel names go through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from conformance.upstream.wiring.values import (
    ERROR,
    NONE,
    UNKNOWN,
    Closure,
    Known,
    Str,
    Tup,
    Values,
    counts,
    joined,
    texts,
    union,
)

if TYPE_CHECKING:
    from conformance.upstream.wiring.expressions import Evaluator

# Methods of the standard library, and Candle's error helpers, that hand their receiver on.
_TRANSPARENT = frozenset(
    (
        *("to_string", "as_str", "to_owned", "into", "clone", "as_ref", "as_mut", "as_deref", "borrow", "deref"),
        *("unwrap", "expect", "w", "bt", "context", "with_context", "map_err", "cloned", "copied", "iter", "into_iter"),
        *("to_vec", "as_slice", "into_string", "into_boxed_str", "ok_or", "ok_or_else", "ok", "try_into"),
    )
)
_UNWRAPPING = frozenset(("unwrap", "expect", "ok_or", "ok_or_else", "context", "with_context"))
_TESTS: dict[str, Callable[[str, str], bool]] = {
    "contains": lambda whole, part: part in whole,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
}
_CASES: dict[str, Callable[[str], str]] = {
    "to_lowercase": str.lower,
    "to_ascii_lowercase": str.lower,
    "to_uppercase": str.upper,
    "trim": str.strip,
}


class Standard:
    """The standard library's methods within one evaluator's frame."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def call(self, name: str, values: Values, given: Sequence[Values]) -> Values:
        """The methods of the standard library that names go through; every other one is unknown."""
        if name in _CASES:
            change = _CASES[name]
            return frozenset(
                Str(tuple(part and change(part) for part in text.parts), text.places) for text in texts(values)
            )
        if name in ("concat", "join"):
            between = given[0] if given else frozenset({Str(("",))})
            rows = [atom for atom in values if isinstance(atom, Tup)]
            return union([self._glued(row, between) for row in rows]) if rows else UNKNOWN
        if name in ("map", "and_then", "map_or", "map_or_else", "unwrap_or_else", "then", "then_some", "for_each"):
            closures = [atom for one in given for atom in one if isinstance(atom, Closure)]
            results = [self._evaluator.call_closure(closure, [values - NONE or UNKNOWN]) for closure in closures]
            plain = [one for one in given if any(isinstance(atom, Str) for atom in one)]
            kept = values - NONE if name == "unwrap_or_else" and counts(values - NONE) else NONE & values
            return union([*results, *plain, kept]) if results or plain else UNKNOWN
        if name in ("unwrap_or", "or"):
            return union([values - NONE, *given]) if values & NONE or not counts(values) else values
        if name in _TESTS and len(given) == 1:
            return self._tested(name, values, given[0])
        if name in _TRANSPARENT or values == ERROR:
            return values - NONE if name in _UNWRAPPING else values
        return UNKNOWN

    def _tested(self, name: str, values: Values, given: Values) -> Values:
        """Whether a text or a list of texts contains (begins with, ends with) another."""
        answers: set[bool] = set()
        for whole in values:
            for part in given:
                sought = part.known if isinstance(part, Str) else None
                if isinstance(whole, Str) and whole.known is not None and sought is not None:
                    answers.add(_TESTS[name](whole.known, sought))
                elif isinstance(whole, Str) and name == "contains" and sought and sought in whole.pattern:
                    answers.add(True)
                elif isinstance(whole, Tup) and name == "contains" and sought is not None:
                    options = [{item.known if isinstance(item, Str) else None for item in one} for one in whole.items]
                    certain = any(one == {sought} for one in options)
                    answers |= (
                        {certain} if certain or not any(one & {sought, None} for one in options) else {True, False}
                    )
                else:
                    answers |= {True, False}
        return frozenset(map(Known, answers))

    def _glued(self, row: Tup, between: Values) -> Values:
        pieces: list[Values] = []
        for position, item in enumerate(row.items):
            pieces += [between, item] if position else [item]
        return joined(pieces)
