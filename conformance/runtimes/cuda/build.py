"""What the cuda runtime's libraries are built from, and where NVRTC and the CUDA toolkit's headers may be."""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Sequence
from pathlib import Path

from conformance.runtimes.cpu.build import HERE as CPU
from conformance.runtimes.cpu.build import INCLUDE as CPU_INCLUDE
from conformance.runtimes.cpu.build import Plan, build, forwarding_headers
from conformance.toolchains.search import release

HERE = Path(__file__).resolve().parent
INCLUDE = HERE / "include"

_SHARED_HEADERS = (
    *(CPU / "runtime" / name for name in ("api.h", "error.h")),
    *(CPU_INCLUDE / "simt" / name for name in ("attributes.inc", "errors.inc", "properties.h")),
    CPU / "hiprtc" / "program.h",
)
_DRIVER = HERE / "runtime" / "driver.cpp"

_PACKAGES = ("nvidia/cu13", "nvidia/cuda_nvrtc")
"""Folders of NVIDIA's PyPI packages below site-packages that hold NVRTC (CUDA 13, CUDA 12)."""

_HEADER_PACKAGES = ("nvidia/cu13", "nvidia/cuda_runtime", "nvidia/cuda_cccl")


def cuda_plan() -> Plan:
    """What to build for the cuda runtime: ``libamdhip64`` over NVIDIA's driver, ``libhiprtc`` over NVRTC. Building
    needs no CUDA."""
    return Plan(
        runtime="cuda",
        sources={
            "libamdhip64.so": (HERE / "runtime", *(CPU / "runtime" / name for name in ("common_api.cpp", "error.cpp"))),
            "libhiprtc.so": (
                *(HERE / "hiprtc", _DRIVER),
                *(CPU / "hiprtc" / name for name in ("api.cpp", "program_common.cpp")),
            ),
        },
        flags=(f"-I{CPU / 'runtime'}", f"-I{CPU / 'hiprtc'}", f"-I{CPU_INCLUDE}"),
        headers=_SHARED_HEADERS,
        forwards=forwarding_headers("cuda", INCLUDE),
    )


def prepare_cuda() -> Path:
    """The folder with both libraries, which are built if they are not there yet.

    It also puts into the environment where libhiprtc finds NVRTC and the headers. Raises ``NoCompiler``, ``BuildError``
    and ``InfrastructureError``.
    """
    folder = build(cuda_plan())
    own = (INCLUDE, folder / "include", INCLUDE / "std", folder / "include" / "std")
    os.environ["HIPCUDA_NVRTC"] = ":".join(map(str, nvrtc_candidates()))
    os.environ["HIPCUDA_INCLUDE"] = ":".join(map(str, (*own, *header_folders())))
    return folder


def toolkits() -> list[Path]:
    """The installed CUDA toolkits: those of ``CUDA_HOME`` and ``CUDA_PATH``, then /usr/local/cuda*, the newest
    first."""
    named = [Path(value) for name in ("CUDA_HOME", "CUDA_PATH") if (value := os.environ.get(name))]
    installed = sorted(Path("/usr/local").glob("cuda*"), key=release, reverse=True)
    return [folder for folder in (*named, *installed) if folder.is_dir()]


def nvrtc_candidates() -> list[Path]:
    """Paths where an NVRTC may be, in the order of ``_candidates``."""
    return _candidates("libnvrtc", _PACKAGES)


def vendor_candidates(what: str) -> list[str]:
    """Paths where cuBLAS or cuRAND may be, in the order of ``_candidates``, then names for the dynamic linker."""
    found = _candidates(f"libcu{what}", ("nvidia/cu13", f"nvidia/cu{what}"))
    return [*map(str, found), *(f"libcu{what}.so.{release}" for release in (13, 12, 10))]


def _candidates(name: str, packages: Sequence[str]) -> list[Path]:
    """Paths of NVIDIA's library ``name``, best first: of toolkits, then of PyPI packages, the newest version first."""
    folders = [folder / lib for folder in toolkits() for lib in ("lib64", "lib", "targets/x86_64-linux/lib")]
    folders += [place / package / "lib" for place in _site_packages() for package in packages]
    found = [path for folder in folders for path in sorted(folder.glob(f"{name}.so.1[0-9]"), reverse=True)]
    return list(dict.fromkeys(path.resolve() for path in found))


def header_folders() -> list[Path]:
    """The folders with the toolkit's headers (``cuda_fp16.h``, ``cuda/std``), from the first place that has them."""
    places = [folder / "include" for folder in toolkits()]
    packages = [place / package / "include" for place in _site_packages() for package in _HEADER_PACKAGES]
    toolkit = next((place for place in places if (place / "cuda_fp16.h").is_file()), None)
    roots = [toolkit] if toolkit is not None else [place for place in packages if place.is_dir()]
    return [folder for root in roots for folder in (root, root / "cccl") if folder.is_dir()]


def _site_packages() -> list[Path]:
    places = [*sys.path, *site.getsitepackages(), site.getusersitepackages()]
    return [path for path in dict.fromkeys(Path(place) for place in places if place) if (path / "nvidia").is_dir()]
