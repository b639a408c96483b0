"""Debian packages that tests make: an ar archive with a data.tar in it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable, Mapping

from conformance.zstd import compress

VERSION = "#define HIP_VERSION_MAJOR {0}\n#define HIP_VERSION_MINOR {1}\n"
COMPRESSED: Mapping[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": compress,
}


def headers(version: str, folder: str = "usr/include") -> dict[str, bytes]:
    """The files of a package with HIP's headers."""
    text = VERSION.format(*version.split("."))
    return {f"{folder}/hip/hip_runtime.h": b"// runtime\n", f"{folder}/hip/hip_version.h": text.encode()}


def libraries(llvm: str, folder: str) -> dict[str, bytes]:
    """The files of a package with device libraries that the LLVM ``17.0.6`` wrote."""
    return {f"{folder}/amdgcn/bitcode/{name}.bc": bitcode(llvm) for name in ("ocml", "ockl", "hip")}


def bitcode(llvm: str) -> bytes:
    """The head of a bitcode file: LLVM's magic number, and the identification block's string in six bits a character,
    with its length before it."""
    alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"
    text = f"LLVM{llvm}"
    bits = 0
    for at, code in enumerate([len(text), *map(alphabet.index, text)]):
        bits |= code << 32 + 6 * at
    head = int.from_bytes(b"BC\xc0\xde", "little") | bits
    return head.to_bytes(96, "little")


def data_tar(files: Mapping[str, bytes], links: Mapping[str, str] = {}, hard: Mapping[str, str] = {}) -> bytes:
    """A tar archive with ``files``, symbolic ``links`` before and ``hard`` links around them: where one has the name of
    a file it comes first."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, leads_to in links.items():
            link = tarfile.TarInfo(f"./{name}")
            link.type, link.linkname = tarfile.SYMTYPE, leads_to
            archive.addfile(link)
        for name in [name for name in hard if name in files]:
            _add_hard(archive, name, hard[name])
        for name, content in files.items():
            member = tarfile.TarInfo(name if name.startswith(("/", "..")) else f"./{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for name in [name for name in hard if name not in files]:
            _add_hard(archive, name, hard[name])
    return target.getvalue()


def _add_hard(archive: tarfile.TarFile, name: str, leads_to: str) -> None:
    link = tarfile.TarInfo(f"./{name}")
    link.type, link.linkname = tarfile.LNKTYPE, leads_to
    archive.addfile(link)


def deb(
    files: Mapping[str, bytes], kind: str = ".xz", links: Mapping[str, str] = {}, hard: Mapping[str, str] = {}
) -> bytes:
    """A package with ``files``, whose data.tar is compressed as ``kind`` says."""
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": lzma.compress(data_tar({"control": b"Package: made\n"})),
        f"data.tar{kind}": COMPRESSED[kind](data_tar(files, links, hard)),
    }
    content = b"!<arch>\n"
    for name, data in members.items():
        content += (
            f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
        )
    return content
