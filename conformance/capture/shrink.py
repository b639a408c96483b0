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
from conformance.cases.geometry import Value, parse
from conformance.cases.launch import Argument, Buffer, Launch, Null, Scalar
from conformance.reading import own_yaml
from conformance.replay.traces import Trace
from conformance.spec.kernel import Kernel

_NUMEL = "numel"


class NotShrinkable(ValueError):
    """A launch of which no smaller one can be made; the message says why."""


@dataclass(frozen=True)
class Smaller:
    """A part of a launch: ``count`` of its items from item ``first`` on, and what of its answer belongs to them."""

    first: int
    count: int
    launch: Launch
    answer: dict[str, NDArray[Any]]


@cache
def _table() -> Mapping[str, Mapping[str, Value]]:
    rows: dict[str, dict[str, Any]] = own_yaml(Path(__file__).with_suffix(".yaml"))
    return {family: {name: parse(str(text)) for name, text in row.items()} for family, row in rows.items()}


def items_of(kernel: Kernel, launch: Launch) -> tuple[int, dict[str, int]]:
    """How many items ``launch`` of ``kernel`` has, and how many elements of each buffer belong to an item; without the
    buffers that are the same for all items.

    Raises ``NotShrinkable``.
    """
    row = _table().get(kernel.launch)
    if row is None:
        raise NotShrinkable(f"which elements of a launch of {kernel.name} belong together is not known")
    described = info_parameter(kernel)
    if any(argument.name == described and not isinstance(argument, Null) for argument in launch.args):
        raise NotShrinkable("its operands have strides")
    names = names_of(kernel, launch.grid, launch.block, integers_of(launch), None)
    counts = {name: value(names) for name, value in row.items()}
    items = counts.pop("items")
    if _NUMEL not in names and launch.grid != (items, 1, 1):
        raise NotShrinkable("its blocks have several rows each")
    if items < 2:
        raise NotShrinkable(f"it has {items} {'row' if _NUMEL not in names else 'element'}")
    return items, counts


def smaller(kernel: Kernel, trace: Trace, buffer: str, index: int) -> list[Smaller]:
    """Parts of ``trace`` with the item that element ``index`` of ``buffer`` belongs to, those with fewest items first.

    They are that item and its neighbours, 1, 2, 4, ... of them, and the items from the first one to that one and
    further: what is wrong may depend on an item's number. Grid, block and the other arguments stay, but for the number
    of items. Raises ``NotShrinkable``.
    """
    items, counts = items_of(kernel, trace.launch)
    if not counts.get(buffer):
        raise NotShrinkable(f"{buffer} is the same for all of its items")
    item = index // counts[buffer]
    if item >= items:
        raise NotShrinkable(f"element {index} of {buffer} is behind its items")
    parts = {(0, item + 1)}
    count = 1
    while count < items:
        parts |= {(min(max(item - count // 2, 0), items - count), count)}
        parts |= {(0, count)} if count > item else set()
        count *= 2
    chosen = sorted((part for part in parts if part[1] < items), key=lambda part: (part[1], part[0]))
    return [_part(trace, counts, items, first, count) for first, count in chosen]


def _part(trace: Trace, counts: Mapping[str, int], items: int, first: int, count: int) -> Smaller:
    """``count`` items of ``trace`` from item ``first`` on. What lies behind the items of a buffer stays behind them."""

    def cut(name: str, data: NDArray[Any]) -> NDArray[Any]:
        each = counts.get(name)
        if each is None:
            return data
        return np.concatenate((data[first * each : (first + count) * each], data[items * each :]))

    def argument(given: Argument) -> Argument:
        if isinstance(given, Buffer):
            return replace(given, data=cut(given.name, given.data))
        if isinstance(given, Scalar) and given.name == _NUMEL:
            return replace(given, value=type(given.value)(count))
        return given

    launch = replace(trace.launch, args=tuple(map(argument, trace.launch.args)))
    if not any(isinstance(given, Scalar) and given.name == _NUMEL for given in launch.args):
        launch = replace(launch, grid=(count, 1, 1))
    return Smaller(first, count, launch, {name: cut(name, data) for name, data in trace.answer.items()})
