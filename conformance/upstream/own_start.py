"""What ``candle-parity new --own`` starts in a port's repository: files that ``run --own`` judges at once."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.dtypes import DTYPES
from conformance.errors import UsageError
from conformance.port.config import OPTIONS_FILE, PYPROJECT, Config
from conformance.text import did_you_mean

FOLDER = "parity"
KERNELS = "kernels"

_NAME = re.compile(r"(?P<stem>[a-z]\w*)_(?:\{(?P<several>[\w,]+)\}|(?P<one>[a-z]+\d+))")
_STUBS = ("f32", "f64", "u8", "u32", "i64")
"""Types whose sum is written alike in C and in numpy; others need conversions, which the stub leaves to its author."""

_FAMILY = """\
# yaml-language-server: $schema=family.schema.json
family: elementwise
title: a thread for each element of the output, operands of any layout
params:
  numel: {role: size, value: numel}
  num_dims: {role: size, value: rank}
  info: {role: info, of: [lhs, rhs]}
  lhs: {role: input}
  rhs: {role: input}
  out: {role: output}
grid: ["ceildiv(numel, 256)"]
block: [256]
cases:
- shape=[1],values=unit
- shape=[31],values=special
- shape=[257],values=large
- shape=[3,5,7],values=unit,layout=transposed
- shape=[6,7,8],values=unit,lhs=narrowed
- shape=[4,9,5],values=unit,rhs=broadcast
- shape=[2,3,4,5],values=unit,lhs=permuted,rhs=transposed
- shape=[3,5,7],values=unit,info=given
"""

_SPEC = """\
# yaml-language-server: $schema=schema.json
module: {stem}
title: what these kernels do, in a few words
families:
- family: {stem}
  launch: elementwise
  name: {stem}_{{dtype}}
  axes:
    dtype: [{dtypes}]
  params:
    numel: scalar size_t
    num_dims: scalar size_t
    info: in size_t*
    lhs: in {{dtype}}*
    rhs: in {{dtype}}*
    out: out {{dtype}}*
  tolerance:
  - {{ulp: 0, library_ulp: 0, source: "one addition, rounded once"}}
"""

_REFERENCE = '''\
"""The reference functions of {spec}: one for each family, of its name."""

from reference.strided import layout, read


def {stem}(variant, library_ulp, *, numel, num_dims, info, lhs, rhs, out):
    """The sum of both operands, in their type.

    Parameters are the kernel's, by name: buffers are 1-D arrays, numbers numpy scalars, a null pointer is None.
    ``info`` has the dims, then the strides of lhs and of rhs, in elements; null where all are contiguous. ``variant``
    has the axes of the spec, such as variant["dtype"]. Answers each written buffer: its first elements, in its dtype.
    """
    shape = layout(info, num_dims, operands=2)
    dims, (left, right) = (None, (None, None)) if shape is None else shape
    return {{"out": read(lhs, numel, dims, left) + read(rhs, numel, dims, right)}}
'''

_HEAD = """\
#include <hip/hip_runtime.h>

template <typename T>
__device__ void {stem}(size_t numel, size_t num_dims, const size_t *info, const T *lhs, const T *rhs, T *out) {{
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= numel) return;
  size_t left = i, right = i;
  if (info != nullptr) {{
    left = right = 0;
    size_t rest = i;
    for (size_t d = num_dims; d-- > 0; rest /= info[d]) {{
      left += rest % info[d] * info[num_dims + d];
      right += rest % info[d] * info[2 * num_dims + d];
    }}
  }}
  out[i] = lhs[left] + rhs[right];
}}
"""

_KERNEL = """
extern "C" __global__ void {name}(size_t numel, size_t num_dims, const size_t *info, const {c} *lhs, const {c} *rhs,
                                  {c} *out) {{
  {stem}(numel, num_dims, info, lhs, rhs, out);
}}
"""


@dataclass(frozen=True)
class Start:
    """The files to write, by path relative to the port's folder, and those that are there already and stay as they
    are."""

    name: str
    files: Mapping[Path, str]
    kept: tuple[Path, ...]
    declared: Path
    """The port's file, relative to its folder."""
    toml: str | None
    """The lines that it still lacks; ``None`` where it is among ``files`` or has them."""


@dataclass(frozen=True)
class _Places:
    """Where the files of own kernels go, relative to the port's folder: as it declares, else the usual folders."""

    specs: Path
    reference: Path
    families: Path
    kernels: Path
    declared: Path
    lacks: str
    """The lines that the port's file lacks."""


def _places(folder: Path, config: Config | None) -> _Places:
    usual = {name: Path(FOLDER, name) for name in ("specs", "reference", "families")}
    kernels, own = (None, None) if config is None else (config.settings.kernels, config.own)
    if kernels is not None and kernels.is_file():
        raise UsageError(
            f"new --own: kernels of {OPTIONS_FILE} is the file {_relative(kernels, folder)}; name its folder there, so "
            "that a file next to it is judged too"
        )
    given = {} if own is None else {"specs": own.specs, "reference": own.reference, "families": own.families}
    found = {name: _relative(given.get(name) or path, folder) for name, path in usual.items()}
    lines = [] if kernels is not None else [f'kernels = "{KERNELS}"', ""]
    in_pyproject = config is not None and config.file.name == PYPROJECT
    table = "tool.candle-parity.own" if in_pyproject else "own"
    if own is None:
        lines += [f"[{table}]", *(f'{name} = "{path}"' for name, path in found.items())]
    elif own.families is None:
        lines += [f"[{table}]  # to what is there", f'families = "{found["families"]}"']
    declared = Path(OPTIONS_FILE) if config is None else _relative(config.file, folder)
    return _Places(
        **found,
        kernels=Path(KERNELS) if kernels is None else _relative(kernels, folder),
        declared=declared,
        lacks="".join(f"{line}\n" for line in lines),
    )


def _relative(path: Path, folder: Path) -> Path:
    return Path(os.path.relpath(folder / path, folder))


def own_start(folder: Path, names: Sequence[str], schemas: Mapping[str, str], config: Config | None = None) -> Start:
    """The files that start own kernels called ``names``, such as ``fadd_{f32,f64}``, in the port at ``folder``.

    ``schemas`` are JSON Schemas by file name. Raises ``UsageError`` for names that are none, and for files that exist.
    """
    if len(names) != 1:
        raise UsageError("new --own starts one group of kernels; give one NAME, such as 'fadd_{f32,f64}'")
    match = _NAME.fullmatch(names[0])
    if match is None:
        raise UsageError(f"{names[0]!r}: expected a name that ends with a dtype or several, such as 'fadd_{{f32,f64}}'")
    stem, dtypes = match["stem"], (match["several"] or match["one"]).split(",")
    for dtype in dtypes:
        if dtype not in _STUBS:
            raise UsageError(
                f"{names[0]!r}: the stub knows {', '.join(_STUBS)}, not {dtype!r}{did_you_mean(dtype, _STUBS)}; start "
                "with one of them and add the others to axes of the spec"
            )
    places = _places(folder, config)
    kernels = [_KERNEL.format(name=f"{stem}_{dtype}", c=DTYPES[dtype].c[0], stem=stem) for dtype in dtypes]
    spec = places.specs / f"{stem}.yaml"
    new = {
        spec: _SPEC.format(stem=stem, dtypes=", ".join(dtypes)),
        places.reference / f"{stem}.py": _REFERENCE.format(stem=stem, spec=spec),
        places.kernels / f"{stem}.hip": _HEAD.format(stem=stem) + "".join(kernels),
    }
    there = [path for path in new if (folder / path).exists()]
    if there:
        raise UsageError(f"{there[0]} is there already; give another name, or add the kernel to it by hand")
    shared = {
        places.families / "elementwise.yaml": _FAMILY,
        places.families / "family.schema.json": schemas["family.schema.json"],
        places.specs / "schema.json": schemas["own.schema.json"],
    }
    files = {**new, **{path: text for path, text in shared.items() if not (folder / path).exists()}}
    kept = [path for path in shared if path not in files]
    if config is None:
        files[places.declared] = places.lacks
    else:
        kept.append(places.declared)
    return Start(f"{stem}_*", files, tuple(kept), places.declared, None if config is None else places.lacks or None)
