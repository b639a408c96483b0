"""From a program's recorded launches to traces that ``replay`` reads (``conformance.replay``)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.capture.extents import extents, info_parameter
from conformance.capture.inside import InnerKernel
from conformance.capture.launches import CaptureError, RecordedBuffer, RecordedLaunch, Seen, read_launch
from conformance.capture.usual import unusual
from conformance.cases.case import Case
from conformance.cases.launch import Argument, Buffer, Launch, Null, Scalar, Stream
from conformance.cases.layouts import MAX_ELEMENTS
from conformance.dtypes import dtype
from conformance.replay.recorder import PART_SUFFIX, Recorder, pack_parts
from conformance.spec.kernel import Kernel

_BEHIND = 64
"""Elements behind those of an output that are kept: what a launch must not touch."""


class NoCase(ValueError):
    """A launch that no case can be made of: an argument's allocation has fewer elements than the launch takes, or more
    than a case may have. The message says of which one."""


@dataclass
class Converted:
    """What became of recorded launches: how many are traces, and by number why others are not, and of which Candle's
    Rust would choose another geometry."""

    cases: int = 0
    refused: dict[int, str] = field(default_factory=dict)
    unusual: dict[int, str] = field(default_factory=dict)


def to_traces(
    seen: Sequence[Seen],
    kernels: Mapping[str, Kernel],
    folder: Path,
    recording: Mapping[str, Any],
    inside: Mapping[str, InnerKernel] | None = None,
) -> Converted:
    """Write the recorded launches of ``seen`` as traces into ``folder``, an archive per module.

    A launch is the case ``KERNEL(trace=NUMBER)``. One of a kernel ``inside`` of a launcher, by the kernel's name, is a
    call of the launcher, which ``kernels`` has too. ``recording`` is what the archives say of themselves. A launch
    whose buffers are too small for it, or too large for a case, is none. Raises ``CaptureError`` for what is no
    recording.
    """
    found = Converted()
    modules: dict[str, dict[str, list[Seen]]] = {}
    for one in sorted(seen, key=lambda one: one.number):
        if one.is_recorded:
            if one.kernel not in kernels:
                raise CaptureError(f"{one.file}: is of {one.kernel}, which is no kernel of the specs; record it anew")
            modules.setdefault(kernels[one.kernel].module, {}).setdefault(one.kernel, []).append(one)
    with tempfile.TemporaryDirectory(prefix=".parts-", dir=folder) as parts:
        for module, launches in modules.items():
            for name, mine in launches.items():
                _write_part(kernels[name], inside or {}, mine, Path(parts), found)
            files = [Path(parts) / f"{name}{PART_SUFFIX}" for name in launches]
            found.cases += pack_parts(files, folder, module, recording)
            for file in files:
                file.unlink(missing_ok=True)
    return found


def _write_part(
    kernel: Kernel, inside: Mapping[str, InnerKernel], launches: Sequence[Seen], folder: Path, found: Converted
) -> None:
    recorder = Recorder()
    for one in launches:
        try:
            launch, after = to_launch(kernel, read_launch(one.file), inside)
        except NoCase as error:
            found.refused[one.number] = str(error)
            continue
        # A launcher chooses the geometry itself.
        other = None if launch.types else unusual(kernel, launch.grid, launch.block, integers_of(launch))
        if other is not None:
            found.unusual[one.number] = other
        recorder.add(Case(kernel.name, (("trace", str(one.number)),)), launch, after, label=str(one.number))
    recorder.write(folder, kernel.name)


def to_launch(
    kernel: Kernel, recorded: RecordedLaunch, inside: Mapping[str, InnerKernel] | None = None
) -> tuple[Launch, dict[str, NDArray[Any]]]:
    """The launch with its arguments as ``kernel`` has them, and what each buffer held afterwards, by name. Where
    ``kernel`` is a launcher, what was recorded is the launch of a kernel ``inside`` of it.

    A buffer has the elements that belong to the launch (``conformance.capture.extents``), an output also some behind
    them. An input that was written is among the second, unless the program gave the same memory as an output. Raises
    ``NoCase``.
    """
    if inside and recorded.kernel in inside:
        try:
            recorded = inside[recorded.kernel].as_call(recorded)
        except ValueError as error:
            raise NoCase(f"its arguments are no call of {kernel.name}: {error}") from None
    _check(kernel, recorded)
    given = dict(zip((parameter.name for parameter in kernel.params), recorded.args, strict=True))
    scalars = {
        parameter.name: np.frombuffer(value, dtype(parameter.dtype).numpy)[0]
        for parameter in kernel.params
        if isinstance(value := given[parameter.name], bytes)
    }
    integers = {name: int(value) for name, value in scalars.items() if value.dtype.kind in "iub"}
    described = info_parameter(kernel)
    info = None if described is None else given[described]
    numbers = None
    if isinstance(info, RecordedBuffer):
        numbers = np.frombuffer(info.before[: len(info.before) // 8 * 8], np.uint64)
    counts = extents(kernel, recorded.grid, recorded.block, integers, numbers)
    args: list[Argument] = []
    after: dict[str, NDArray[Any]] = {}
    for parameter in kernel.params:
        value = given[parameter.name]
        if parameter.role == "stream":
            args.append(Stream(parameter.name))
        elif value is None and counts.get(parameter.name) == 0:
            # An allocation of no bytes is a null pointer, and a tensor without elements is an argument all the same.
            empty = np.empty(0, dtype(parameter.dtype).numpy)
            args.append(Buffer(parameter.name, parameter.dtype, parameter.role, empty))
            if parameter.role != "in":
                after[parameter.name] = empty
        elif value is None:
            args.append(Null(parameter.name))
        elif not isinstance(value, RecordedBuffer):
            args.append(Scalar(parameter.name, parameter.dtype, scalars[parameter.name]))
        else:
            row = dtype(parameter.dtype)
            room = len(value.before) // row.size
            count = counts.get(parameter.name, room)
            if count > room:
                raise NoCase(f"{parameter.name} has {room} elements, and the launch takes {count}")
            if count > MAX_ELEMENTS:
                raise NoCase(f"{parameter.name} has {count} elements, more than the {MAX_ELEMENTS} of a case")
            kept = min(room, count + (0 if parameter.role == "in" else _BEHIND)) * row.size
            data = np.frombuffer(value.before[:kept], row.numpy)
            args.append(Buffer(parameter.name, parameter.dtype, parameter.role, data))
            shared = parameter.role == "in" and _is_output_too(parameter.name, kernel, given, counts)
            if value.after is not None and not shared:
                after[parameter.name] = np.frombuffer(value.after[:kept], row.numpy)
    if kernel.is_host_function:
        types = tuple("*" if parameter.pointer else parameter.dtype for parameter in kernel.params)
        return Launch(kernel.name, (0, 0, 0), (0, 0, 0), 0, tuple(args), types), after
    return Launch(kernel.name, recorded.grid, recorded.block, recorded.shared, tuple(args)), after


def _check(kernel: Kernel, recorded: RecordedLaunch) -> None:
    """Raises ``NoCase`` for arguments that ``kernel`` does not have: the library in front knows them by the plan."""
    sizes = [0 if parameter.pointer else dtype(parameter.dtype).size for parameter in kernel.params]
    given = [len(value) if isinstance(value, bytes) else 0 for value in recorded.args]
    if sizes != given:
        raise NoCase(f"its arguments have {given} bytes by value, and those of {kernel.name} have {sizes}")


def integers_of(launch: Launch) -> dict[str, int]:
    """The integer arguments of ``launch`` by name."""
    scalars = (argument for argument in launch.args if isinstance(argument, Scalar))
    return {one.name: int(one.value) for one in scalars if one.value.dtype.kind in "iub"}


def _is_output_too(name: str, kernel: Kernel, given: Mapping[str, object], counts: Mapping[str, int]) -> bool:
    """Whether elements of the launch's input ``name`` are also of an output. That both lie in one allocation does not
    make them so: many programs have one for all of their tensors."""
    ranges = {
        parameter.name: _range(value, counts.get(parameter.name), dtype(parameter.dtype).size)
        for parameter in kernel.params
        if isinstance(value := given[parameter.name], RecordedBuffer)
    }
    begin, end = ranges[name]
    outputs = (ranges[one.name] for one in kernel.params if one.role in ("out", "inout") and one.name in ranges)
    return any(first < end and begin < last for first, last in outputs)


def _range(buffer: RecordedBuffer, count: int | None, size: int) -> tuple[int, int]:
    """The addresses of ``count`` elements of ``size`` bytes, or of all; the second is behind the last."""
    return buffer.address, buffer.address + (len(buffer.before) if count is None else count * size)
