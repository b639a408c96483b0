"""A wheel for x86-64 with the libraries of the cpu runtime inside, so that a first run does not compile them."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

GLIBC = "2.28"
"""As numpy's wheels."""


class RuntimeHook(BuildHookInterface[Any]):
    """Builds the runtime with zig, whose C++ library goes inside, for the glibc of ``GLIBC``.

    A compiler that ``CANDLE_PARITY_CXX`` names is used instead, for a wheel of this machine alone.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the libraries to the wheel's files."""
        sys.path.insert(0, self.root)
        from conformance.runtimes.cpu.build import MANIFEST, build, host_plan, write_manifest
        from conformance.toolchains.host import ENVIRONMENT

        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-linux_x86_64"
        if not os.environ.get(ENVIRONMENT):
            build_data["tag"] = f"py3-none-manylinux_{GLIBC.replace('.', '_')}_x86_64"
            os.environ[ENVIRONMENT] = f"{sys.executable} -m ziglang c++ -target x86_64-linux-gnu.{GLIBC}"
        plan, built = host_plan(), build()
        self._folder = tempfile.TemporaryDirectory()
        manifest = Path(self._folder.name) / MANIFEST
        write_manifest(built, plan.sources, manifest)
        for file in (manifest, *(built / name for name in plan.sources)):
            build_data["force_include"][str(file)] = f"conformance/_data/runtime/{plan.digest}/{file.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the manifest."""
        self._folder.cleanup()
