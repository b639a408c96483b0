"""Reading untrusted files: bounded in size, and never waiting for a FIFO or a device."""

from __future__ import annotations

import errno
import json
import lzma
import os
import stat
from pathlib import Path
from typing import Any, NoReturn

MIB = 1 << 20

_XZ = b"\xfd7zXZ\x00"
_ZSTD = b"\x28\xb5\x2f\xfd"
_MEMORY = 128 * MIB
"""The most that a decompressor may take: as much as ``zstd --ultra -22`` needs, and more than ``xz -9``."""

_MOST_JSON = 32 * MIB
_MOST_MARKS = 2_000_000
_DEEPEST = 24
_MOST_ROWS = 50_000
_MOST_KEYS = 10_000
_LONGEST = 1 << 18
"""Bounds of a JSON file: bytes when decompressed; commas, colons and opening brackets, of which every value has one;
levels of nesting; rows of a list; keys of an object; characters of a text. They are ten times what the largest record
of a run of every kernel has (4 MB, 310,000 marks), and keep what is read below 500 MB of memory: an empty object takes
three bytes in the file, and 72 here."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


def kind_of(path: Path) -> str | None:
    """What ``path`` is if it is no regular file, in words: "a folder", "a FIFO". ``None`` for a regular file, and for a
    path at which there is nothing."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return None
    return next((name for is_kind, name in _KINDS if is_kind(mode)), None)


def own_yaml(path: Path) -> Any:
    """The content of a YAML file of the harness itself. It is read by libyaml where PyYAML was built with it."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)


def read_bytes(path: Path, most: int = 64 * MIB) -> bytes:
    """The content of the regular file ``path``.

    Raises ``OSError``. Its ``strerror`` also says that the path is no regular file, or larger than ``most`` bytes.
    """
    # Without O_NONBLOCK the open itself would wait for a FIFO's writer.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
    with os.fdopen(handle, "rb") as file:
        return _bounded(file.read(most + 1), most, path)


def read_text(path: Path, most: int = 64 * MIB) -> str:
    """The text of the regular file ``path``, read as UTF-8, without a byte order mark.

    Raises ``OSError`` as ``read_bytes``, and ``UnicodeDecodeError``.
    """
    return read_bytes(path, most).decode("utf-8-sig")


def read_json(path: Path, most: int = _MOST_JSON, pipe: bool = False) -> Any:
    """The JSON content of ``path``, plain or compressed by xz or zstd, whatever its suffix.

    With ``pipe`` it may be one, such as a shell's ``<(...)``.

    The file may come from a stranger: its size is bounded before it is parsed, its content before anything is made of
    it. Raises ``OSError``, whose ``strerror`` says which bound it is beyond, and ``ValueError`` for what is not UTF-8,
    not JSON (NaN and infinities among it), nested too deep, damaged where it is compressed, or holds an integer too
    long to be converted.
    """
    if pipe:
        with open(path, "rb") as file:
            content = _bounded(file.read(most + 1), most, path)
    else:
        content = read_bytes(path, most)
    if content.startswith((_XZ, _ZSTD)):
        unpack = _from_xz if content.startswith(_XZ) else _from_zstd
        content = _bounded(unpack(content, most + 1), most, path, " when decompressed")
    marks = sum(map(content.count, (b",", b":", b"[", b"{")))
    if marks > _MOST_MARKS:
        raise OSError(
            errno.EFBIG, f"it has {marks:,} commas, colons and brackets; a record has fewer than {_MOST_MARKS:,}"
        )
    try:
        text = content.decode("utf-8-sig")
        del content
        data = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
        _check_bounds(data)
        return data
    except UnicodeDecodeError as cause:
        raise ValueError(f"it is not UTF-8 text (byte {cause.start})") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _check_bounds(data: Any) -> None:
    """Raises ``OSError`` for JSON that is nested deeper, or has a longer list, object or text, than a file of ours."""
    waiting = [(data, 0)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, str):
            _bound(len(value), _LONGEST, "a text of {} characters")
        elif isinstance(value, dict):
            _bound(len(value), _MOST_KEYS, "an object of {} keys")
            waiting += [(one, depth + 1) for one in value.values()]
        elif isinstance(value, list):
            _bound(len(value), _MOST_ROWS, "a list of {} rows")
            waiting += [(one, depth + 1) for one in value]
        _bound(depth, _DEEPEST, "{} levels of nesting")


def _bound(count: int, most: int, what: str) -> None:
    if count > most:
        raise OSError(errno.EFBIG, f"it has {what.format(f'{count:,}')}; there may be {most:,}")


def shortened(text: str, most: int = 200) -> str:
    """``text`` of at most ``most`` characters or so: the middle of a longer one is left out."""
    if len(text) <= most:
        return text
    kept = most // 2
    return f"{text[:kept]}...({len(text) - 2 * kept} characters)...{text[-kept:]}"


def _bounded(content: bytes, most: int, path: Path, when: str = "") -> bytes:
    if len(content) > most:
        limit = f"{most // MIB} MiB" if most >= MIB else f"{most // 1024} KiB"
        raise OSError(errno.EFBIG, f"it is larger than {limit}{when}", str(path))
    return content


def _from_xz(content: bytes, most: int) -> bytes:
    """The first ``most`` bytes that an xz stream holds; raises ``ValueError``."""
    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)
    try:
        found = stream.decompress(content, most)
    except lzma.LZMAError as error:
        raise ValueError(f"its xz stream cannot be decompressed: {error}") from None
    if len(found) < most and not stream.eof:
        raise ValueError("its xz stream is incomplete")
    if stream.unused_data:
        raise ValueError("bytes follow its xz stream")
    return found


def _from_zstd(content: bytes, most: int) -> bytes:
    """The first ``most`` bytes that a zstd frame holds; raises ``ValueError``. A frame that is cut short ends early."""
    from conformance.zstd import decompress

    return decompress(content, most)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{shortened(text)} is larger than any float")
    return value
