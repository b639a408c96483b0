"""Stand-ins for the vendor's libraries, compiled from one source for each kind."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from conformance.toolchains.host import find_toolchain


def compiled(source: Path, folder: Path, files: Mapping[str, str]) -> dict[str, Path]:
    """``source`` as each library of ``files``, which says by name what its file is called."""
    compiler = find_toolchain(links_standard_library=True).compiler
    for name, file in files.items():
        words = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", f"-D{name.upper()}"]
        subprocess.run([*compiler, *words, str(source), "-o", str(folder / file)], check=True)
    return {name: folder / file for name, file in files.items()}
