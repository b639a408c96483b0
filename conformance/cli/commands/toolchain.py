"""``candle-parity toolchain``: list compilers, HIP's headers and device libraries, and bring those of a HIP release.

AMD's machine code (`run --runtime isa`, `build`) needs a compiler for AMD targets, HIP's headers, and AMD's device
libraries. Debian 12 has HIP 5.2, whose headers lack hip_bf16.h, so that nothing of a port that includes it can be
judged. `--get` brings newer headers and device libraries from Debian's archive into the cache, without root: packages
of two megabytes together, each told by its SHA-256. clang takes them from then on, before those of the system; ROCm's
own compiler goes on with its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from conformance.cli.machine import Row, rendered
from conformance.cli.usage import CommandParser
from conformance.errors import UsageError
from conformance.session.gate import MET
from conformance.toolchains.amd import KINDS, find_toolchain, rocm_roots
from conformance.toolchains.device_libraries import all_device_libraries, llvm_version
from conformance.toolchains.fetched import (
    ARCHIVE,
    PREFIX,
    Release,
    download,
    fetched,
    known_releases,
    library_roots,
    packages_of,
    remove,
    take,
)
from conformance.toolchains.headers import GET, OF_ROCM, headers_of, hip_in
from conformance.toolchains.targets import AmdError, target

EXAMPLES = (
    ("candle-parity toolchain", "what this machine has for AMD's machine code"),
    ("candle-parity toolchain --get hip-7.2", "the headers and device libraries of HIP 7.2, from Debian's archive"),
    ("candle-parity toolchain --get hip-7.2 --from packages", "the same, from packages that lie in a folder"),
    ("candle-parity toolchain --from hip-dev.deb", "those of any package with HIP's headers, or of an unpacked tree"),
)
EXIT_CODES = "0 listed, or brought; 2 bad usage, or what was asked for cannot be had"

_ANY = "gfx942"


def options(parser: CommandParser) -> None:
    parser.add_argument("--get", type=_release, metavar="HIP", help="bring this release (hip-7.2) into the cache")
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="PATH",
        help="take it from here: a package (.deb), a folder of packages, or a folder that they were unpacked to",
    )
    parser.add_argument("--archive", metavar="URL", help=f"another mirror of {ARCHIVE}")
    parser.add_argument("--remove", type=_release, metavar="HIP", help="take this release out of the cache")


def command(arguments: argparse.Namespace) -> int:
    if arguments.archive is not None and (arguments.get is None or arguments.source is not None):
        raise UsageError("toolchain: --archive is where --get downloads from; give --get, without --from")
    if arguments.remove is not None:
        remove(arguments.remove)
        print(f"removed {PREFIX}{arguments.remove}")
    if arguments.source is not None:
        _say(take(arguments.source, arguments.get))
    elif arguments.get is not None:
        _say(download(arguments.get, arguments.archive or ARCHIVE))
    for row in _rows():
        print(rendered(row), flush=True)
    return MET


def _release(text: str) -> str:
    version = text.removeprefix(PREFIX)
    if version == text or not version.replace(".", "").isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no release of HIP; expected a name such as {PREFIX}7.2")
    return version


def _say(release: Release) -> None:
    libraries = ", ".join(llvm_version(folder) for folder in release.libraries)
    besides = f" and device libraries of LLVM {libraries}" if libraries else " without device libraries"
    print(f"{PREFIX}{release.version}: headers{besides} are in {release.folder}\n")


def _rows() -> Iterator[Row]:
    """What ``--runtime isa`` and ``build`` use, then all that there is, then what can be brought."""
    used = include = None
    try:
        used = find_toolchain([target(_ANY)])
        include = headers_of(used.options)
        yield Row("ok", "used", used.name)
    except AmdError as error:
        yield Row("todo", "used", "nothing: AMD's machine code cannot be made here", str(error))
    for kind in KINDS:
        try:
            toolchain = find_toolchain([target(_ANY)], (kind,))
            yield Row("ok", f"compiler, {kind}", f"{toolchain.name} ({' '.join(toolchain.command)})")
        except AmdError as error:
            why = str(error).partition(f"({kind}: ")[2].rpartition("); install")[0]
            yield Row("none", f"compiler, {kind}", why or str(error))
    roots = [*rocm_roots(), *(release.folder for release in fetched()), Path("/usr")]
    for folder in dict.fromkeys(root / "include" for root in roots):
        if (folder / "hip/hip_runtime.h").is_file():
            lacking = sorted(name for name in OF_ROCM if not (folder / name).is_file())
            is_used = include is not None and folder.resolve() == include
            text = f"{hip_in(folder)}{', used' if is_used else ''}"
            if not lacking:
                yield Row("ok", "headers", text)
                continue
            todo = f"sources that include these are not_run; {GET} brings them" if is_used else ""
            yield Row("todo" if is_used else "none", "headers", f"{text}, without {', '.join(lacking)}", todo)
    for folder in all_device_libraries([*rocm_roots(), *library_roots(None), Path("/usr")]):
        wrote = llvm_version(folder)
        what = f"LLVM {wrote}, for clang {wrote.partition('.')[0]} and newer" if wrote else "an unknown LLVM"
        yield Row("ok", "libraries", f"device libraries of {what}, in {folder}")
    for release in known_releases():
        size = sum(row.size for row in packages_of(release)) / 1e6
        what = ", ".join(f"{row.package} {row.version}" for row in packages_of(release))
        if all(one.version != release for one in fetched()):
            yield Row("none", "can be fetched", f"{PREFIX}{release} ({size:.1f} MB: {what})")
