"""A machine with AMD's HIP in a given layout and no AMD GPU: this one, seen from a private mount namespace.

A command in the box sees its own ``/usr/lib``, ``/usr/include``, ``/opt`` and linker's cache: AMD's libraries with the
libc that they need, over what the machine has, and without the HIP that the machine may have itself. Nothing outside
the namespace changes. HIP's dependencies are in the library folder in every layout: Debian's libraries lack the RUNPATH
with which AMD's packages find them in /opt/rocm/lib.
"""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tests.rocm_libraries.libraries import MULTIARCH, Libraries, Unavailable

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 900
_OPT = "/opt/rocm"
_NATIVE = ("libamdhip64*", "libhiprtc*", "libamd_comgr*", "libhsa-runtime64*", "libhsakmt*")
_ENVIRONMENT = (
    *("ROCM_PATH", "ROCM_HOME", "HIP_PATH", "LD_LIBRARY_PATH", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    *("CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"),
)


@dataclass(frozen=True)
class Layout:
    """Where HIP's libraries and headers lie; ``linked`` says that the linker's cache lists the libraries."""

    name: str
    in_opt: bool
    headers: bool
    linked: bool

    @property
    def libraries(self) -> str:
        return f"{_OPT}/lib" if self.in_opt else f"/usr/lib/{MULTIARCH}"


LAYOUTS = (
    Layout("debian", in_opt=False, headers=True, linked=True),
    Layout("opt-rocm", in_opt=True, headers=True, linked=False),
    Layout("opt-rocm-in-ld.so.conf", in_opt=True, headers=True, linked=True),
    Layout("opt-rocm-without-headers", in_opt=True, headers=False, linked=False),
)
OPT_ROCM = LAYOUTS[1]


class Box:
    """Runs commands with ``libraries`` in ``layout``; raises ``Unavailable`` when this machine cannot."""

    def __init__(self, libraries: Libraries, layout: Layout) -> None:
        self.libraries, self.layout = libraries, layout
        self._unshare = _unshare()
        self._script = _script(libraries, layout)
        done = self.run(["true"])
        if done.returncode:
            raise Unavailable(f"the libraries cannot be mounted in a private namespace ({_last(done.stderr)})")

    def run(
        self, words: Sequence[str], environment: Mapping[str, str] | None = None, seconds: float = SECONDS
    ) -> subprocess.CompletedProcess[str]:
        """Run ``words`` in the box, in the root of the repository, without the user's settings for ROCm."""
        kept = {name: value for name, value in os.environ.items() if name not in _ENVIRONMENT}
        return subprocess.run(
            [*self._unshare, "sh", "-c", self._script, "box", *words],
            cwd=ROOT,
            env={**kept, "PYTHONPATH": str(ROOT), **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )


@lru_cache(maxsize=1)
def _unshare() -> tuple[str, ...]:
    """The command that makes a mount namespace, of root or of a user's own; raises ``Unavailable``."""
    if Path("/dev/kfd").exists():
        raise Unavailable("this machine has AMD's GPU driver (/dev/kfd), and the tests are about machines without")
    said = ""
    for words in (("unshare", "--mount"), ("unshare", "--mount", "--map-root-user")):
        command = (*words, "--propagation", "private")
        done = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return command
        said = _last(done.stderr)
    raise Unavailable(f"no private mount namespace can be made here ({said})")


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1].strip().rstrip(".")


def _script(libraries: Libraries, layout: Layout) -> str:
    hidden = _hidden()
    layers = {
        "/usr/lib": [libraries.base / "usr/lib", hidden / "usr/lib"],
        "/usr/include": [hidden / "usr/include"],
        "/opt": [hidden / "opt"],
    }
    binds = []
    if layout.in_opt:
        layers["/opt"].insert(0, hidden / "opt-with-rocm")
        binds.append((libraries.lib, f"{_OPT}/lib"))
        if layout.headers:
            binds.append((libraries.include, f"{_OPT}/include"))
    else:
        layers["/usr/lib"].insert(0, libraries.hip / "usr/lib")
        layers["/usr/include"].insert(0, libraries.include)
    lines = ["set -e", "PATH=$PATH:/usr/sbin:/sbin"]
    for place, folders in layers.items():
        stack = [_plain(folder) for folder in (*folders, Path(place))]
        lines.append(f"mount -t overlay overlay -o 'lowerdir={':'.join(stack)}' {place}")
    lines += [f"mount --bind '{_plain(source)}' {place}" for source, place in binds]
    conf = hidden / ("opt.conf" if layout.in_opt and layout.linked else "usual.conf")
    lines += [
        f"mount -t tmpfs tmpfs '{hidden}/scratch'",
        f"ldconfig -X -f '{conf}' -C '{hidden}/scratch/ld.so.cache'",
        f"mount --bind '{hidden}/scratch/ld.so.cache' /etc/ld.so.cache",
    ]
    return "\n".join([*lines, 'exec "$@"'])


def _plain(path: Path) -> str:
    """``path``, if mount's options can hold it."""
    if set(str(path)) & set(":,'\\"):
        raise Unavailable(f"the folder {path} has a character that options of mount cannot hold; use another one")
    return str(path)


@lru_cache(maxsize=1)
def _hidden() -> Path:
    """A folder with layers that hide the machine's own HIP (overlay's whiteouts: devices 0, 0), and other small parts.

    It lives as long as this process.
    """
    _kept.append(tempfile.TemporaryDirectory(prefix="candle-parity-box-"))
    folder = Path(_kept[-1].name)
    for name in ("usr/lib", "usr/include", "opt", f"opt-with-rocm{_OPT.removeprefix('/opt')}/lib", "scratch"):
        (folder / name).mkdir(parents=True)
    (folder / f"opt-with-rocm{_OPT.removeprefix('/opt')}/include").mkdir()
    own = [path for pattern in _NATIVE for path in Path("/usr/lib", MULTIARCH).glob(pattern)]
    own += [Path("/usr/include/hip"), *Path("/opt").glob("rocm*")]
    for path in own:
        if os.path.lexists(path):
            whiteout = folder / path.relative_to("/")
            whiteout.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.mknod(whiteout, stat.S_IFCHR | 0o600, os.makedev(0, 0))
            except OSError as error:
                raise Unavailable(f"the machine's own {path} cannot be hidden ({error.strerror})") from error
    (folder / "usual.conf").write_text("include /etc/ld.so.conf\n")
    (folder / "opt.conf").write_text(f"include /etc/ld.so.conf\n{_OPT}/lib\n")
    return folder


_kept: list[tempfile.TemporaryDirectory[str]] = []
