"""Libraries of launchers, loaded into this process."""

from __future__ import annotations

import subprocess

import pytest

from conformance.runtimes.hip.host_libraries import HostLibraries
from conformance.toolchains.host import NoCompiler, find_toolchain


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Two libraries, which export ``first`` and ``second``."""
    try:
        compiler = find_toolchain(links_standard_library=False).compiler
    except NoCompiler as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("libraries")
    found = []
    for name in ("first", "second"):
        source, output = folder / f"{name}.cpp", folder / name
        source.write_text(f'extern "C" void {name}() {{}}\n')
        subprocess.run([*compiler, "-shared", "-fPIC", "-nostdlib", str(source), "-o", str(output)], check=True)
        found.append(output.read_bytes())
    return found


def test_each_library_has_its_own_functions(libraries: list[bytes]) -> None:
    loader = HostLibraries()
    first, second = (loader.load_launchers(code, "k.hip") for code in libraries)
    assert loader.symbol(first, "first") is not None
    assert loader.symbol(first, "second") is None
    assert loader.symbol(second, "second") is not None
    assert loader.load_launchers(libraries[0], "other.hip") == first
