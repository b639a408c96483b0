"""Smaller versions of a recorded launch: fewer of its elements or rows, where these do not depend on each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.capture.convert import integers_of
from conformance.capture.extents import info_parameter, names_of
from conformance.cases.geometry import Condition, Value, parse, parse_condition
from conformance.cases.launch import Argument, Buffer, Launch, Null, Scalar
from conformance.reading import own_yaml
from conformance.replay.traces import Trace
from conformance.spec.kernel import Kernel
from conformance.text import counted


class NotShrinkable(ValueError):
    """A launch of which no smaller one can be made; the message says why."""


@dataclass(frozen=True)
class Smaller:
    """A part of a launch: ``count`` of its items from item ``first`` on, and what of its answer belongs to them."""

    first: int
    count: int
    launch: Launch
    answer: dict[str, NDArray[Any]]


@dataclass(frozen=True)
class ItemsRow:
    """A row of ``shrink.yaml``, whose head explains the fields. ``condition`` is ``when`` as it is written."""

    items: Value
    told: tuple[str, ...]
    each: Mapping[str, Value]
    when: Condition | None = None
    condition: str = ""


@dataclass(frozen=True)
class Items:
    """The items of one launch: how many, which arguments tell it, and how many elements of each buffer one has."""

    count: int
    told: tuple[str, ...]
    each: Mapping[str, int]


@cache
def items_table() -> Mapping[str, ItemsRow]:
    """The rows of ``shrink.yaml`` by launch family."""
    rows: dict[str, dict[str, Any]] = own_yaml(Path(__file__).with_suffix(".yaml"))
    found = {}
    for family, row in rows.items():
        each = {name: parse(str(text)) for name, text in row["each"].items()}
        condition = str(row.get("when", ""))
        when = parse_condition(condition) if condition else None
        found[family] = ItemsRow(parse(str(row["items"])), tuple(row["told"]), each, when, condition)
    return found


def items_of(kernel: Kernel, launch: Launch) -> Items:
    """The items of ``launch`` of ``kernel``; raises ``NotShrinkable``."""
    row = items_table().get(kernel.launch)
    if row is None:
        raise NotShrinkable(f"which elements of a launch of {kernel.name} belong together is not known")
    described = info_parameter(kernel)
    if any(argument.name == described and not isinstance(argument, Null) for argument in launch.args):
        raise NotShrinkable("its operands have strides")
    if any(isinstance(argument, Buffer) and argument.start for argument in launch.args):
        raise NotShrinkable("a buffer does not begin with its first element")
    names = names_of(kernel, launch.grid, launch.block, integers_of(launch), None)
    try:
        independent = row.when is None or row.when(names)
        count, each = row.items(names), {name: value(names) for name, value in row.each.items()}
    except ValueError as error:  # a number that no launch has
        raise NotShrinkable(f"its items cannot be counted: {error}") from None
    if not independent:
        raise NotShrinkable(f"its items may depend on each other, as {row.condition} does not hold")
    if count < 2:
        raise NotShrinkable(f"it has {counted(count, 'item')}")
    return Items(count, row.told, each)


def smaller(kernel: Kernel, trace: Trace, buffer: str, index: int) -> list[Smaller]:
    """Parts of ``trace`` with the item that element ``index`` of ``buffer`` belongs to, those with fewest items first.

    They are that item and its neighbours, 1, 2, 4, ... of them, and the items from the first one to that one and
    further: what is wrong may depend on an item's number. Grid, block and the other arguments stay, but for the number
    of items. Raises ``NotShrinkable``.
    """
    items = items_of(kernel, trace.launch)
    each = items.each.get(buffer)
    if not each:
        raise NotShrinkable(f"{buffer} is the same for all of its items")
    item = index // each
    if item >= items.count:
        raise NotShrinkable(f"element {index} of {buffer} is behind its items")
    parts = {(0, item + 1)}
    count = 1
    while count < items.count:
        parts |= {(min(max(item - count // 2, 0), items.count - count), count)}
        parts |= {(0, count)} if count > item else set()
        count *= 2
    chosen = sorted((part for part in parts if part[1] < items.count), key=lambda part: (part[1], part[0]))
    return [_part(trace, items, first, count) for first, count in chosen]


def _part(trace: Trace, items: Items, first: int, count: int) -> Smaller:
    """``count`` items of ``trace`` from item ``first`` on. What lies behind the items of a buffer stays behind them."""

    def cut(name: str, data: NDArray[Any]) -> NDArray[Any]:
        each = items.each.get(name)
        if each is None:
            return data
        return np.concatenate((data[first * each : (first + count) * each], data[items.count * each :]))

    def argument(given: Argument) -> Argument:
        if isinstance(given, Buffer):
            return replace(given, data=cut(given.name, given.data))
        if isinstance(given, Scalar) and given.name in items.told:
            return replace(given, value=type(given.value)(count))
        return given

    grid = trace.launch.grid
    if "grid_y" in items.told:
        grid = (grid[0], count, grid[2])
    elif grid == (items.count, 1, 1):
        grid = (count, 1, 1)
    launch = replace(trace.launch, grid=grid, args=tuple(map(argument, trace.launch.args)))
    return Smaller(first, count, launch, {name: cut(name, data) for name, data in trace.answer.items()})
