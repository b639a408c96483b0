"""Names that are defined against names of the specs: missing ones, extra ones, and which extra is meant for which."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence

from conformance.spec.kernel import Kernel

_NEAR = 0.8
_EXTRA = ("hip", "amd", "kernel")
_DTYPE_AXES = ("dtype", "src_dtype", "dst_dtype", "idx_dtype")


def intended_names(extra: Iterable[str], missing: Collection[str]) -> dict[str, str]:
    """For each extra name the missing name most like it (similarity of difflib, 0.8 or more, or the same words with
    some of them twice), best pairs first, each missing name for one extra only."""
    pairs: list[tuple[float, str, str]] = []
    for name in extra:
        pairs += ((_NEAR, name, wanted) for wanted in missing if _says_more(name, wanted))
        for near in difflib.get_close_matches(name, missing, n=5, cutoff=_NEAR):
            pairs.append((difflib.SequenceMatcher(None, name, near).ratio(), name, near))
    found: dict[str, str] = {}
    for _, name, near in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if name not in found and near not in found.values():
            found[name] = near
    return found


def _says_more(name: str, wanted: str) -> bool:
    """Whether ``name`` has the words of ``wanted`` in order, and none but those besides: ``f32_eq_f32``, ``eq_f32``."""
    words, rest = wanted.split("_"), iter(name.split("_"))
    return name != wanted and all(word in rest for word in words) and set(name.split("_")) <= {*words, *_EXTRA}


def nearest(name: str, names: Collection[str]) -> str | None:
    """The name of ``names`` most like ``name``, if any is like it."""
    return next(iter(difflib.get_close_matches(name, names, n=1, cutoff=_NEAR)), None)


def other_dtypes(kernel: Kernel, defined: Collection[str], kernels: Mapping[str, Kernel]) -> Sequence[str]:
    """The defined kernels that differ from ``kernel`` in dtypes only."""
    mine = _without_dtypes(kernel)
    return [
        other.name
        for other in kernels.values()
        if other.name != kernel.name and other.name in defined and _without_dtypes(other) == mine
    ]


def _without_dtypes(kernel: Kernel) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    variant = tuple(sorted((axis, value) for axis, value in kernel.variant.items() if axis not in _DTYPE_AXES))
    return (kernel.module, kernel.family, variant)
