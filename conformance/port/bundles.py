"""Offload bundles: files with a code object per target, compressed or not, and the one that a device takes.

The formats are those of clang-offload-bundler, described in LLVM's ClangOffloadBundler document.
"""

from __future__ import annotations

import importlib
import struct
import zlib
from collections.abc import Iterator, Sequence

from conformance.reading import MIB
from conformance.toolchains.targets import AmdError

_MOST = 1024 * MIB
_BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
_COMPRESSED = b"CCOB"
_HEADERS = {1: struct.Struct("<4sHHIQ"), 2: struct.Struct("<4sHHIIQ"), 3: struct.Struct("<4sHHQQQ")}
"""Magic, version, method, in versions 2 and 3 the size of the file, uncompressed size, hash."""
_ZLIB, _ZSTD = 0, 1

ZSTD = ("compression.zstd", "backports.zstd", "zstandard")
"""Modules with a ``decompress``: of Python 3.14, and of PyPI packages."""

_AMD = "amdgcn-amd-amdhsa-"
UNKNOWN = "unknown"

# LLVM's AMDGPU usage document, "Generic Processors".
_GENERIC = {
    "gfx9-generic": ("gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"),
    "gfx9-4-generic": ("gfx940", "gfx941", "gfx942", "gfx950"),
    "gfx10-1-generic": ("gfx1010", "gfx1011", "gfx1012", "gfx1013"),
    "gfx10-3-generic": ("gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"),
    "gfx11-generic": ("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"),
    "gfx12-generic": ("gfx1200", "gfx1201"),
}


class CompressedBundle(AmdError):
    """A bundle that nothing here can decompress, because a package is missing. The bundle itself may be right."""


def amd_entries(data: bytes, label: str) -> list[tuple[str, bytes]] | None:
    """The code objects for AMD GPUs in an offload bundle, each with its target; ``None`` where ``data`` is no bundle.

    ``label`` names it in errors. Raises ``AmdError``, and ``CompressedBundle`` where a package is missing.
    """
    if data.startswith(_COMPRESSED):
        data = _decompressed(data, label)
    if not data.startswith(_BUNDLE):
        return None
    entries = [
        (triple.partition(_AMD)[2].lstrip("-"), code) for triple, code in _bundled(data, label) if _AMD in triple
    ]
    if not entries:
        raise AmdError(f"{label}: is an offload bundle with no code object for an AMD GPU; give one that has")
    return entries


def choose(targets: Sequence[str], arch: str) -> int | None:
    """The index of the one of ``targets`` that a device of ``arch`` (``gfx942:sramecc+:xnack-``) takes.

    Of several it is the one that names most features; ``None`` where there is none.
    """
    fitting = [(_specific(target), number) for number, target in enumerate(targets) if _runs_on(target, arch)]
    return max(fitting, key=lambda row: (row[0], -row[1]))[1] if fitting else None


def _runs_on(target: str, arch: str) -> bool:
    """Whether the processor is the device's, and so is each feature that the target names; others are free."""
    processor, *features = target.split(":")
    own, *have = arch.split(":")
    same = processor == own or own in _GENERIC.get(processor, ()) or target == UNKNOWN or not arch
    return same and (not have or all(feature in have for feature in features))


def _specific(target: str) -> tuple[bool, int]:
    processor, *features = target.split(":")
    return processor not in _GENERIC, len(features)


def _bundled(data: bytes, label: str) -> Iterator[tuple[str, bytes]]:
    """The entries of an offload bundle: target triple, content."""
    try:
        (count,) = struct.unpack_from("<Q", data, len(_BUNDLE))
        place = len(_BUNDLE) + 8
        for _ in range(count):
            offset, size, length = struct.unpack_from("<QQQ", data, place)
            triple = data[place + 24 : place + 24 + length].decode("ascii")
            place += 24 + length
            if offset + size > len(data):
                raise ValueError("an entry beyond the end of the file")
            yield triple, data[offset : offset + size]
    except (struct.error, ValueError) as error:
        raise AmdError(f"{label}: is an offload bundle that is cut short or damaged; build it again") from error


def _decompressed(data: bytes, label: str) -> bytes:
    version, method = struct.unpack_from("<HH", data.ljust(8, b"\0"), len(_COMPRESSED))
    header = _HEADERS.get(version)
    if header is None or method not in (_ZLIB, _ZSTD):
        raise CompressedBundle(
            f"{label}: is a compressed offload bundle of a kind that is not known here (version {version}, method "
            f"{method}); build it with --no-gpu-bundle-output"
        )
    damaged = AmdError(f"{label}: is a compressed offload bundle that is cut short or damaged; build it again")
    if len(data) < header.size:
        raise damaged
    size = header.unpack_from(data)[-2]
    if size > _MOST:
        raise damaged
    packed = data[header.size :]
    try:
        content = _zlib(packed, size) if method == _ZLIB else _zstd(packed, label)
    except AmdError:
        raise
    except Exception as error:  # each zstd package has an error type of its own
        raise damaged from error
    if len(content) != size or not content.startswith(_BUNDLE):
        raise damaged
    return content


def _zlib(packed: bytes, size: int) -> bytes:
    stream = zlib.decompressobj()
    content = stream.decompress(packed, size + 1)
    return content if stream.eof else b""


def _zstd(packed: bytes, label: str) -> bytes:
    for name in ZSTD:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return bytes(module.decompress(packed))
    raise CompressedBundle(
        f"{label}: is a compressed offload bundle (zstd), which this Python cannot read; install the package zstandard "
        "(pip install zstandard), or build it with --no-gpu-bundle-output"
    )
