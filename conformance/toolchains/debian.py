"""Debian packages (.deb) unpacked without root, dpkg or another program.

A package is an ar archive (deb(5)): ``debian-binary``, then ``control.tar`` and ``data.tar``, each compressed or not.
The files are in ``data.tar``.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any

from conformance.errors import UserError
from conformance.writing import make_links
from conformance.zstd import decompress

MOST_BYTES = 512 << 20
"""Of a package, and of its files together."""

_MAGIC = b"!<arch>\n"
_HEADER = 60
_DATA = "data.tar"
_READERS: Mapping[str, Callable[[io.BytesIO], Any]] = {
    "": lambda packed: packed,
    ".gz": lambda packed: gzip.GzipFile(fileobj=packed),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": lambda packed: io.BytesIO(decompress(packed.read(), MOST_BYTES + 1)),  # Ubuntu's
}
"""What reads ``data.tar``, by the rest of its name."""

_DAMAGED = (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error)
"""Errors of these, which read from memory."""


class PackageError(UserError, ValueError):
    """A file is no Debian package, or cannot be unpacked. The message is one sentence."""


def unpack(content: bytes, folder: Path, name: str) -> None:
    """Write the files of a package below ``folder``. ``content`` are the package's bytes, and ``name`` is its name in
    errors.

    Nothing is written outside of ``folder``, neither by a path nor through a link. A symbolic link that leads out of it
    is left out, a hard link becomes a file of its own, and permissions are those of any new file. Raises
    ``PackageError``, and ``OSError`` where a file cannot be written.
    """
    suffix, packed = _data_of(content, name)
    try:
        data = _READERS[suffix](io.BytesIO(packed)).read(MOST_BYTES + 1)
    except _DAMAGED as error:
        raise _damaged(name, error) from None
    except KeyError:
        raise PackageError(f"{name}: its {_DATA}{suffix} is compressed in a way that is not known here") from None
    if len(data) > MOST_BYTES:
        raise _too_large(name)
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            _write(archive, folder, name)
    except (tarfile.TarError, EOFError, ValueError, KeyError, RecursionError) as error:
        raise error if isinstance(error, PackageError) else _damaged(name, error) from None


def _write(archive: tarfile.TarFile, folder: Path, name: str) -> None:
    """Write the files of ``archive``, then its symbolic links; what else there is, as a device, is left out. Raises
    ``PackageError``, and what ``tarfile`` raises for a damaged archive."""
    root = Path(os.path.realpath(folder))
    members = [(os.path.normpath(member.name.lstrip("/")), member) for member in archive]
    links = {path: member.linkname for path, member in members if member.issym()}
    left = MOST_BYTES
    for path, member in members:
        if not (member.isreg() or member.islnk()):
            continue
        place = root / path
        above = {str(one) for one in PurePath(path).parents}
        # Of an earlier package there may be links already, which lead to other places of the folder.
        if path.split("/")[0] in (".", "..") or above & links.keys() or Path(os.path.realpath(place)) != place:
            raise PackageError(f"{name}: its file {member.name!r} is not one of the folder that it is unpacked to")
        source = archive.extractfile(member)  # of a hard link the file that it names
        content = b"" if source is None else source.read(left + 1)
        left -= len(content)
        if left < 0:  # hard links to one large file, or a sparse one
            raise _too_large(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    make_links(root, {path: target for path, target in links.items() if path.split("/")[0] not in (".", "..")})


def _too_large(name: str) -> PackageError:
    return PackageError(f"{name}: has more than {MOST_BYTES >> 20} MiB of files; give a smaller package")


def _damaged(name: str, error: Exception) -> PackageError:
    return PackageError(f"{name}: its {_DATA} cannot be unpacked ({error}); get the package again")


def _data_of(content: bytes, name: str) -> tuple[str, bytes]:
    """What follows ``data.tar`` in the name of that member (``.xz``), and its bytes."""
    if not content.startswith(_MAGIC):
        raise PackageError(f"{name}: is no Debian package; give a file that ends with .deb")
    at = len(_MAGIC)
    while at + _HEADER <= len(content):
        head = content[at : at + _HEADER]
        member, size = head[:16].decode("ascii", "replace").rstrip(" /"), head[48:58].strip()
        if not head.endswith(b"`\n") or not size.isdigit():
            break
        start, end = at + _HEADER, at + _HEADER + int(size)
        if member.startswith(_DATA) and end <= len(content):
            return member.removeprefix(_DATA), content[start:end]
        at = end + end % 2  # members begin at even offsets
    raise PackageError(f"{name}: is a Debian package that is cut short or damaged; get it again")
