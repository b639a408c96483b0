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
from conformance.capture.launches import RecordedBuffer, RecordedLaunch
from conformance.cases.geometry import Value, parse
from conformance.dtypes import dtype
from conformance.reading import own_yaml
from conformance.spec.kernel import Kernel, Parameter


@dataclass(frozen=True)
class InnerKernel:
    """A kernel that ``launcher`` launches, once a call. ``columns`` is the number that ends the kernel's name, 0 where
    none does; ``given`` and ``narrow`` are as in ``inside.yaml``."""

    name: str
    launcher: Kernel
    columns: int
    given: Mapping[str, Value]
    narrow: Mapping[str, str]

    @property
    def params(self) -> tuple[Parameter, ...]:
        """The kernel's parameters: those of the launcher but for its stream and what is given otherwise."""
        of_kernel = (one for one in self.launcher.params if one.role != "stream" and one.name not in self.given)
        return tuple(replace(one, dtype=self.narrow.get(one.name, one.dtype)) for one in of_kernel)

    def as_call(self, recorded: RecordedLaunch) -> RecordedLaunch:
        """The launch of this kernel with the launcher's arguments; the stream is a null pointer. Arguments that are not
        the kernel's stay as they are. Raises ``ValueError`` where integers make no number of what is given."""
        if [_size(value) for value in recorded.args] != [_size_of(parameter) for parameter in self.params]:
            return recorded
        args = dict(zip((parameter.name for parameter in self.params), recorded.args, strict=True))
        integers = {
            parameter.name: int(np.frombuffer(value, dtype(parameter.dtype).numpy)[0])
            for parameter in self.params
            if isinstance(value := args[parameter.name], bytes)
        }
        names = names_of(self.launcher, recorded.grid, recorded.block, integers, None)
        names |= {"columns": self.columns, "grid_z": recorded.grid[2]}
        numbers = {name: value(names) for name, value in self.given.items()}
        numbers |= {name: integers[name] for name in self.narrow}
        for parameter in self.launcher.params:
            if parameter.name in numbers:
                args[parameter.name] = np.array(numbers[parameter.name], dtype(parameter.dtype).numpy).tobytes()
        return replace(recorded, args=tuple(args.get(parameter.name) for parameter in self.launcher.params))


def _size(value: bytes | RecordedBuffer | None) -> int:
    return len(value) if isinstance(value, bytes) else 0


def _size_of(parameter: Parameter) -> int:
    return 0 if parameter.pointer else dtype(parameter.dtype).size


def inner_kernels(launchers: Iterable[Kernel]) -> dict[str, InnerKernel]:
    """The kernels of ``launchers`` that ``inside.yaml`` has, by name."""
    found = {}
    for launcher in launchers:
        row = _table().get(launcher.launch)
        if row is None:
            continue
        spelled = {key: str(row.spelled.get(key, {}).get(value, value)) for key, value in launcher.variant.items()}
        name = row.kernel.format(**spelled)
        for columns in range(1, row.columns + 1) if row.columns else (0,):
            inner = InnerKernel(name.replace("*", str(columns)), launcher, columns, row.given, row.narrow)
            found[inner.name] = inner
    return found


@dataclass(frozen=True)
class _InnerRow:
    kernel: str
    columns: int
    spelled: Mapping[str, Mapping[str, int]]
    given: Mapping[str, Value]
    narrow: Mapping[str, str]


@cache
def _table() -> Mapping[str, _InnerRow]:
    rows: dict[str, dict[str, Any]] = own_yaml(Path(__file__).with_suffix(".yaml"))
    return {
        family: _InnerRow(
            kernel=row["kernel"],
            columns=row.get("columns", 0),
            spelled=row.get("spelled", {}),
            given={name: parse(text) for name, text in row["given"].items()},
            narrow=row.get("narrow", {}),
        )
        for family, row in rows.items()
    }
