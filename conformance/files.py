"""Where the harness's own files are: specs, kernels and traces, and the cache that it writes.

A wheel holds specs and kernels in ``conformance/_data``; in a checkout they are next to the package. The
recorded answers are a distribution of their own, the extra ``replay``. Nothing is ever written into an installation.
"""

from __future__ import annotations

import hashlib
import os
import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parent
"""The folder that holds both packages: the root of a checkout, or ``site-packages``."""

REFERENCE = ROOT / "reference"
CACHE = "CANDLE_PARITY_CACHE"
"""The environment variable that names another cache folder."""

KERNELS = "kernels"
"""The port that ships with the harness, in a record that was made at the root of a checkout."""

SHIPPED = "shipped"
"""The word by which ``--kernels`` asks for that port, in a checkout and in an installation."""

SHIPPED_KERNELS = "the shipped kernels"
SHIPPED_TRACES = "the shipped traces"
"""What records call the data of an installation, whose folders mean nothing to a reader."""

DATA = PACKAGE / "_data"


def installed() -> bool:
    """Whether this package was installed from a wheel. Its specs and kernels are inside the package then, and stay
    unwritten."""
    return DATA.is_dir()


def source_tree() -> Path | None:
    """The root of the checkout or unpacked archive that this package is part of; ``None`` for an installation."""
    return ROOT if (ROOT / "pyproject.toml").is_file() and not installed() else None


def checkout() -> Path | None:
    """The root of the git checkout that this package is part of; ``None`` for an installation and for an unpacked
    archive."""
    return source_tree() if (ROOT / ".git").exists() else None


def version() -> str:
    """The installed version, such as ``0.1.0``; "unknown" for a package that was copied without being installed."""
    from importlib import metadata

    try:
        return metadata.version("candle-parity")
    except metadata.PackageNotFoundError:
        return "unknown"


def documentation() -> str:
    """Where the documentation is: its address, where the package's metadata has one (``[project.urls]``), else its
    folder in a source tree; empty where neither is known."""
    from importlib import metadata

    try:
        addresses = metadata.metadata("candle-parity").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        addresses = []
    named = [address.partition(", ")[2] for address in addresses if address.startswith("Documentation, ")]
    tree = source_tree()
    return named[0] if named else "" if tree is None else str(tree / "docs" / "README.md")


def spec_folder() -> Path:
    """The folder of the specs that come with the harness."""
    return _shipped("specs")


def kernels_folder() -> Path:
    """The folder of the port that comes with the harness."""
    return _shipped("kernels")


def traces_folder() -> Path:
    """The folder of the recorded launches: that of a checkout, or of the extra ``replay``. It may not be there."""
    extra = find_spec("candle_parity_traces") if installed() else None
    places = [] if extra is None else list(extra.submodule_search_locations or ())
    return Path(places[0]) if places else REFERENCE / "traces"


def kernels_path(word: str) -> Path:
    """The path that the word ``word`` of ``--kernels`` names.

    ``shipped`` stands for the port that comes with the harness; a folder of that name is ``./shipped``.
    """
    return kernels_folder() if word == SHIPPED else Path(word)


def kernels_word(path: Path) -> str:
    """The word of the command line that names ``path``: the inverse of ``kernels_path``."""
    return SHIPPED if path == kernels_folder() else str(path)


def in_own_checkout() -> bool:
    """Whether the working directory lies in the source tree that this package is part of."""
    root = source_tree()
    return root is not None and Path.cwd().resolve().is_relative_to(root)


def shipped_name(path: Path) -> str | None:
    """What messages call ``path`` if it is the kernels or the traces of an installation; ``None`` for every other
    path."""
    names = {kernels_folder(): SHIPPED_KERNELS, traces_folder(): SHIPPED_TRACES}
    return names.get(path.resolve()) if installed() else None


def cache_folder() -> Path:
    """The folder of the cache: ``$CANDLE_PARITY_CACHE`` if set; in a checkout ``.cache/candle-parity``; else one in the
    user's cache folder (``~/.cache/candle-parity``). It need not exist."""
    chosen = os.environ.get(CACHE)
    if chosen:
        return Path(chosen)
    root = checkout()
    if root is not None:
        return root / ".cache" / "candle-parity"
    import platformdirs

    return platformdirs.user_cache_path("candle-parity")


def harness_digest() -> str:
    """A hash of all code and data that verdicts depend on: the package and the reference, without the recorded
    answers."""
    return digest_of(PACKAGE, REFERENCE, without=REFERENCE / "traces")


def digest_of(*folders: Path, without: Path | None = None) -> str:
    """A hash over names and content of the files under ``folders``, but for what Python itself keeps there and what
    lies in the folder ``without``."""
    digest = hashlib.sha256()
    for folder in folders:
        places = ((place, names) for place, _, names in os.walk(folder) if place != str(without))
        files = (f"{place}/{name}" for place, names in places for name in names if name[-4:] != ".pyc")
        for file in filter(os.path.isfile, sorted(files)):
            content = hashlib.sha256(Path(file).read_bytes()).digest()
            digest.update(f"{file.removeprefix(str(folder))}\0".encode() + content)
    return digest.hexdigest()[:16]


def own_python(statement: str) -> list[str]:
    """The command of a process that runs ``statement`` with the packages that this process has, wherever it is started.

    With ``-m`` or a plain ``-c`` Python would look in the working directory first, where a port may have a folder of
    the same name as one of our packages; and a second installation may come before this one on the path.
    """
    first = f"next((i for i, p in enumerate(sys.path) if os.path.isdir(os.path.join(p, {__package__!r}))), 0)"
    return [sys.executable, "-P", "-c", f"import os, sys; sys.path.insert({first}, {str(ROOT)!r}); {statement}"]


def own_module(name: str) -> list[str]:
    """The command of a process that runs the module ``name`` of ours as ``python -m`` would; see ``own_python``.

    It calls ``gc.enable()`` once all is imported: nothing of that is garbage, and looking costs a tenth of its start.
    """
    return own_python(f"import gc, runpy; gc.disable(); runpy.run_module({name!r}, None, '__main__', True)")


def _shipped(name: str) -> Path:
    inside = DATA / name
    return inside if installed() else ROOT / name
