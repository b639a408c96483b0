"""Names that are near to one another: which name a port's own one is meant for, and lines that map them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from conformance.port.declared.names import names_of
from conformance.port.sources import SourceError
from conformance.spec.kernel import Kernel

_NEAR = 0.8
_EXTRA = ("hip", "amd", "kernel")
_DTYPE_AXES = ("dtype", "src_dtype", "dst_dtype", "idx_dtype")


def intended_names(extra: Iterable[str], missing: Collection[str]) -> dict[str, str]:
    """For each name of ``extra`` the one of ``missing`` that was probably meant, for those that have one.

    Names are alike if difflib's similarity is 0.8 or more, or if they have the same words, some of them twice. The best
    pairs come first, and no missing name is used twice.
    """
    pairs: list[tuple[float, str, str]] = []
    for name in extra:
        pairs += ((_NEAR, name, wanted) for wanted in missing if _says_more(name, wanted))
        for near in difflib.get_close_matches(name, missing, n=5, cutoff=_NEAR):
            pairs.append((difflib.SequenceMatcher(None, name, near).ratio(), name, near))
    intended: dict[str, str] = {}
    for _, name, near in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if name not in intended and near not in intended.values():
            intended[name] = near
    return intended


def _says_more(name: str, wanted: str) -> bool:
    """Whether ``name`` has the words of ``wanted`` in order, and no others: ``f32_eq_f32``, ``eq_f32``."""
    parts, rest = wanted.split("_"), iter(name.split("_"))
    return name != wanted and all(part in rest for part in parts) and set(name.split("_")) <= {*parts, *_EXTRA}


def nearest(name: str, names: Collection[str]) -> str | None:
    """The one of ``names`` that is most like ``name``; ``None`` where none is like it."""
    return next(iter(difflib.get_close_matches(name, names, n=1, cutoff=_NEAR)), None)


def other_dtypes(kernel: Kernel, defined: Collection[str], kernels: Mapping[str, Kernel]) -> Sequence[str]:
    """The defined kernels that differ from ``kernel`` only in dtypes."""
    mine = _without_dtypes(kernel)
    return [
        other.name
        for other in kernels.values()
        if other.name != kernel.name and other.name in defined and _without_dtypes(other) == mine
    ]


def _without_dtypes(kernel: Kernel) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    variant = tuple(sorted((axis, value) for axis, value in kernel.variant.items() if axis not in _DTYPE_AXES))
    return (kernel.module, kernel.family, variant)


_NUMBERED = re.compile(r"(.*?)([0-9]+)")


def suggested_aliases(
    pairs: Iterable[tuple[str, str]], defined: Collection[str], kernels: Collection[str]
) -> list[tuple[str, str]]:
    """Lines for ``[names]`` of candle-parity.toml, from ``pairs`` of Candle's name and the port's.

    Pairs that differ in the same way become one pattern, unless that would take a kernel's own name from it; the others
    get a line each.
    """
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for candle, port in pairs:
        groups.setdefault(_general(candle, port), []).append((candle, port))
    lines: list[tuple[str, str]] = []
    for pattern, group in groups.items():
        lines += [pattern] if len(group) > 1 and _fits(pattern, group, defined, kernels) else group
    return lines


def _fits(
    pattern: tuple[str, str], group: Iterable[tuple[str, str]], defined: Collection[str], kernels: Collection[str]
) -> bool:
    try:
        names = names_of([pattern], kernels, "")
    except SourceError:
        return False
    return all(names.port(candle) == port for candle, port in group) and not (names.ports.keys() & set(defined))


def _general(candle: str, port: str) -> tuple[str, str]:
    """Both names with ``*`` for the words that they share: ``*_cuda*``, ``*_hip*`` of ``.._cuda1``, ``.._hip1``."""
    ours, theirs = candle.split("_"), port.split("_")
    before = _shared(ours, theirs)
    after = _shared(ours[before:][::-1], theirs[before:][::-1])
    middles = [part[before : len(part) - after] for part in (ours, theirs)]
    number = ""
    last = [_NUMBERED.fullmatch(part[-1]) if len(part) == 1 else None for part in middles]
    if not after and last[0] and last[1] and last[0][2] == last[1][2] and last[0][1] and last[1][1]:
        middles, number = [[last[0][1]], [last[1][1]]], "*"
    first, second = (
        "_".join([*(["*"] if before else []), *part, *(["*"] if after else [])]) + number for part in middles
    )
    return first, second


def _shared(first: list[str], second: list[str]) -> int:
    """How many words both begin with."""
    pairs = zip(first, second, strict=False)
    return next((count for count, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))
