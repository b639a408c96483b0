"""Kernels inside of linked launchers: a launch of one is recorded as a call of its launcher, by rows of
``inside.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from conformance.capture.extents import names_of
from conformance.capture.launches import RecordedLaunch
from conformance.cases.geometry import Value, parse
from conformance.dtypes import dtype
from conformance.reading import own_yaml
from conformance.spec.kernel import Kernel, Parameter


@dataclass(frozen=True)
class InnerKernel:
    """A kernel that ``launcher`` launches, once a call. ``given`` are the launcher's arguments that the kernel does not
    get, by name; ``columns`` is the number that ends the kernel's name, 0 where none does."""

    name: str
    launcher: Kernel
    columns: int
    given: Mapping[str, Value]

    @property
    def params(self) -> tuple[Parameter, ...]:
        """The kernel's parameters: those of the launcher but for its stream and what is given otherwise."""
        of_kernel = (one for one in self.launcher.params if one.role != "stream" and one.name not in self.given)
        return tuple(of_kernel)

    def as_call(self, recorded: RecordedLaunch) -> RecordedLaunch:
        """The launch of this kernel with the launcher's arguments; the stream is a null pointer. Arguments that are not
        the kernel's stay as they are."""
        if len(recorded.args) != len(self.params):
            return recorded
        args = dict(zip((parameter.name for parameter in self.params), recorded.args, strict=True))
        names = names_of(self.launcher, recorded.grid, recorded.block, {}, None) | {"columns": self.columns}
        for parameter in self.launcher.params:
            if parameter.name in self.given:
                args[parameter.name] = np.array(
                    self.given[parameter.name](names), dtype(parameter.dtype).numpy
                ).tobytes()
        return replace(recorded, args=tuple(args.get(parameter.name) for parameter in self.launcher.params))


def inner_kernels(launchers: Iterable[Kernel]) -> dict[str, InnerKernel]:
    """The kernels of ``launchers`` that ``inside.yaml`` has, by name."""
    found = {}
    for launcher in launchers:
        row = _table().get(launcher.launch)
        if row is None:
            continue
        name = row.kernel.format(**launcher.variant)
        for columns in range(1, row.columns + 1) if row.columns else (0,):
            inner = InnerKernel(name.replace("*", str(columns)), launcher, columns, row.given)
            found[inner.name] = inner
    return found


@dataclass(frozen=True)
class _InnerRow:
    kernel: str
    columns: int
    given: Mapping[str, Value]


@cache
def _table() -> Mapping[str, _InnerRow]:
    rows: dict[str, dict[str, Any]] = own_yaml(Path(__file__).with_suffix(".yaml"))
    return {
        family: _InnerRow(
            row["kernel"], row.get("columns", 0), {name: parse(text) for name, text in row["given"].items()}
        )
        for family, row in rows.items()
    }
