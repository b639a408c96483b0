"""Where NVRTC and the CUDA toolkit's headers may be."""

from __future__ import annotations

import os
import site
import sys
from pathlib import Path

from conformance.toolchains.search import release

_PACKAGES = ("nvidia/cu13", "nvidia/cuda_nvrtc")
"""Folders of NVIDIA's PyPI packages below site-packages that hold NVRTC (CUDA 13, CUDA 12)."""

_HEADER_PACKAGES = ("nvidia/cu13", "nvidia/cuda_runtime", "nvidia/cuda_cccl")


def toolkits() -> list[Path]:
    """Installed toolkits: those that ``CUDA_HOME`` and ``CUDA_PATH`` name, then /usr/local/cuda*, newest first."""
    named = [Path(value) for name in ("CUDA_HOME", "CUDA_PATH") if (value := os.environ.get(name))]
    installed = sorted(Path("/usr/local").glob("cuda*"), key=release, reverse=True)
    return [folder for folder in (*named, *installed) if folder.is_dir()]


def nvrtc_candidates() -> list[Path]:
    """Paths of NVRTC libraries, best first: the toolkits', then those of PyPI packages, newest version first."""
    folders = [folder / lib for folder in toolkits() for lib in ("lib64", "lib", "targets/x86_64-linux/lib")]
    folders += [place / package / "lib" for place in _site_packages() for package in _PACKAGES]
    found = [path for folder in folders for path in sorted(folder.glob("libnvrtc.so.1[0-9]"), reverse=True)]
    return list(dict.fromkeys(path.resolve() for path in found))


def header_folders() -> list[Path]:
    """Folders with the toolkit's headers (``cuda_fp16.h``, ``cuda/std``), of the first place that has them."""
    places = [folder / "include" for folder in toolkits()]
    packages = [place / package / "include" for place in _site_packages() for package in _HEADER_PACKAGES]
    toolkit = next((place for place in places if (place / "cuda_fp16.h").is_file()), None)
    roots = [toolkit] if toolkit is not None else [place for place in packages if place.is_dir()]
    return [folder for root in roots for folder in (root, root / "cccl") if folder.is_dir()]


def _site_packages() -> list[Path]:
    places = [*sys.path, *site.getsitepackages(), site.getusersitepackages()]
    return [path for path in dict.fromkeys(Path(place) for place in places if place) if (path / "nvidia").is_dir()]
