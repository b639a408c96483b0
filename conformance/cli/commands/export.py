"""``candle-parity export``: write cases with expected outputs as .safetensors files, for tests in any language."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.case import Case
from conformance.cases.launch import Argument, Buffer, Null, Scalar, Stream
from conformance.cli.progress import progress
from conformance.cli.usage import OVER_CASES, CommandParser, take_patterns
from conformance.dtypes import dtype
from conformance.errors import UsageError
from conformance.extras import missing
from conformance.option import OUTPUT
from conformance.own import UNTRUSTED
from conformance.session.selection import check_cases, judgeable, own_left_out, print_left_out, select
from conformance.session.setup import specs_without_port
from conformance.settings import Settings
from conformance.spec.kernel import Kernel
from conformance.text import counted
from conformance.verdict.compare import is_poison
from conformance.verdict.trials import TrialCase, generated, generated_parts
from conformance.writing import write_inside
from reference.expected import Expected

FORMAT = "candle-parity goldens 2"
"""The value of ``format`` in the metadata; docs/goldens.md describes it."""

EXAMPLES = (
    ("candle-parity export 'uexp_*' --safetensors cases", "every case of some kernels"),
    (
        "candle-parity export badd_f32 'uexp_*(layout=transposed;*)' --safetensors cases",
        "a kernel, and the transposed cases of others",
    ),
    ("candle-parity export --module unary --seed-salt 7 --safetensors cases", "a module, with other input data"),
)
EXIT_CODES = "0 written; 2 bad usage or bad input, or no case is left to write"


def options(parser: CommandParser) -> None:
    parser.description = (
        "Writes DIR/MODULE/KERNEL.safetensors with the inputs, parameters and expected outputs of each case "
        "(docs/goldens.md). The expected outputs are those of the reference: nothing is compiled or launched. Needs "
        "the extra candle-parity[export]."
    )
    take_patterns(parser, OVER_CASES)
    parser.group(OUTPUT).add_argument(
        "--safetensors",
        type=Path,
        required=True,
        metavar="DIR",
        help="the folder for the files, which is made where it is missing; files of the same names are replaced",
    )


def command(arguments: argparse.Namespace) -> int:
    """Write a file for each kernel. One file for all would have 900 MB, and one for each case would be 25,000 files.

    Raises ``UsageError`` where no case is left to write.
    """
    settings = Settings.of(vars(arguments))
    salt, specs = settings.salt, specs_without_port(settings)
    kernels, chosen = select(specs, arguments.patterns, arguments.module, launchers=True)
    check_cases(specs, chosen)
    print_left_out(own_left_out(kernels))
    kernels = judgeable(kernels)
    if any(kernel.is_untrusted for kernel in kernels):
        raise UsageError(f"{kernels[0].name}: {UNTRUSTED}")
    files = cases = size = faults = spread = 0
    with progress() as on_progress, np.errstate(all="ignore"):
        for done, kernel in enumerate(kernels):
            on_progress("writing", done, len(kernels))
            asked = tuple(map(Case.parse, chosen.get(kernel.name, ()))) or generated_parts(kernel).judged
            every = [case for case in generated(kernel, asked, salt) if case.launch.spread is None]
            made = [case for case in every if not case.must_fault]
            spread, faults = spread + len(asked) - len(every), faults + len(every) - len(made)
            if not made:
                continue
            data = golden_bytes(kernel, made, specs.upstream_commit, salt)
            write_inside(arguments.safetensors, f"{kernel.module}/{kernel.name}.safetensors", data)
            files, cases, size = files + 1, cases + len(made), size + len(data)
    what = ((faults, "that have to end with a fault"), (spread, "that span more memory than a file can hold"))
    left = " and ".join(f"{count} cases {why}" for count, why in what if count)
    if not files:
        raise UsageError(f"nothing was written: there are only {left}")
    left_out = f"; {left} are left out" if left else ""
    what_is_there = f"{counted(files, 'file')} with {counted(cases, 'case')} ({size / 1e6:.1f} MB)"
    print(f"wrote {what_is_there} to {arguments.safetensors}{left_out}")
    return 0


def golden_bytes(kernel: Kernel, cases: Iterable[TrialCase], upstream: str, salt: str = "") -> bytes:
    """The content of the file of ``kernel`` with ``cases``, none of which must fault. The same cases give the same
    bytes.

    ``upstream`` is the commit of Candle, ``salt`` that of the data. Raises ``UsageError`` where the package safetensors
    is not installed.
    """
    try:
        from safetensors.numpy import save
    except ModuleNotFoundError as error:
        raise missing(error, "export") or error from None
    tensors: dict[str, NDArray[Any]] = {}
    defined = f"candle-kernels/src/{kernel.upstream} at {upstream}"
    about = {
        "format": FORMAT,
        "entry": kernel.entry,
        "kernel": kernel.name,
        "module": kernel.module,
        "upstream": defined if kernel.own is None else f"none; an own kernel of the port, {kernel.upstream}",
        "parameters": _json([{"name": p.name, "dtype": p.dtype, "role": p.role} for p in kernel.params]),
        "ulp": str(kernel.tolerance.ulp),
        "tolerance_source": kernel.tolerance.source,
        "seed_salt": salt,
    }
    count = 0
    for number, case in enumerate(cases):
        launch = case.launch
        arguments = [
            _argument(f"{number}.{one.name}", one, case.expected.get(one.name), tensors) for one in launch.args
        ]
        geometry = {"grid": launch.grid, "block": launch.block, "shared": launch.shared}
        row = {"id": case.id, **({} if kernel.is_host_function else geometry)}
        about[f"case.{number}"] = _json({**row, "poison_byte": f"0x{case.case.poison_byte:02x}", "args": arguments})
        count += 1
    about["cases"] = str(count)
    return _sorted(save(tensors, about))


def _argument(
    name: str, argument: Argument, expected: Expected | None, tensors: dict[str, NDArray[Any]]
) -> dict[str, Any]:
    """What the metadata say of ``argument``, whose content goes into ``tensors`` under ``name``."""
    if isinstance(argument, Null):
        return {"name": argument.name, "kind": "null"}
    if isinstance(argument, Scalar):
        tensors[name] = np.asarray(argument.value)
        value = argument.value.item() if argument.value.dtype.kind in "iub" else repr(float(argument.value))
        return {"name": argument.name, "kind": "scalar", "dtype": argument.dtype, "value": value}
    if isinstance(argument, Stream):
        return {"name": argument.name, "kind": "stream"}
    if argument.role == "scratch":
        return {"name": argument.name, "kind": "scratch", "bytes": argument.data.nbytes}
    tensors[name] = argument.data
    about = {"name": argument.name, "kind": "buffer", "dtype": argument.dtype, "start": argument.start}
    if expected is None:
        return about
    before, start = argument.data, argument.start
    for part in ("value", "low", "high", "free"):
        content = getattr(expected, part)
        if content is not None:
            head = np.zeros(start, np.bool_) if part == "free" else before[:start]
            tensors[f"{name}.{part}"] = np.concatenate([head, content])
    return {**about, "written": _written(argument, tensors[f"{name}.value"])}


def _written(argument: Buffer, value: NDArray[Any]) -> list[list[int]]:
    """The ranges [first, end) of the elements that a kernel may write: all but those before ``start`` and those that
    hold the poison before and after, which is the rule of the verdict."""
    row = dtype(argument.dtype)
    before, after = argument.data.view(row.bits), np.ascontiguousarray(value).view(row.bits)
    written = (before != after) | ~is_poison(after, row)
    written[: argument.start] = False
    edges = np.flatnonzero(np.diff(np.concatenate([[False], written, [False]]).astype(np.int8)))
    return [[int(first), int(end)] for first, end in edges.reshape(-1, 2)]


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _sorted(data: bytes) -> bytes:
    """``data`` with the metadata in alphabetical order: the package writes them in another order every time."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[8 + length :]
