"""A judge goes on with what it has loaded, and no judge waits while there is something to do."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

from conformance.engine.messages import Compile, Request
from conformance.engine.pool import taken, ungrouped


def _letter(request: Request) -> str:
    """The group of a request: the first letter of its source."""
    assert isinstance(request, Compile)
    return request.source[0]


def _by_turns(sources: str, members: str) -> list[str]:
    """Which of ``sources`` each of ``members`` takes, one after the other."""
    queue, had = deque[Request](map(Compile, sources.split())), dict[Hashable, set[int]]()
    done = [taken(queue, int(member), _letter, had) for member in members]
    return [one.source for one in done if isinstance(one, Compile)]


def test_who_has_had_a_group_goes_on_with_it() -> None:
    assert _by_turns("a1 a2 b1 a3 b2 b3", "010101") == ["a1", "b1", "a2", "b2", "a3", "b3"]


def test_a_group_that_nobody_has_had_comes_in_the_order_of_the_requests() -> None:
    assert _by_turns("a1 b1 a2 c1", "0101") == ["a1", "b1", "a2", "c1"]


def test_where_only_groups_of_others_are_left_it_takes_their_first_and_goes_on_with_that_group() -> None:
    assert _by_turns("a1 b1 a2 b2 b3 a3", "012222") == ["a1", "b1", "a2", "a3", "b2", "b3"]


def test_without_groups_requests_are_taken_in_their_order() -> None:
    queue = deque[Request](map(Compile, "abcd"))
    done = [taken(queue, member, ungrouped, {}) for member in (0, 1, 0, 1)]
    assert [one.source for one in done if isinstance(one, Compile)] == [*"abcd"]
