"""Programs that were linked with AMD's libamdhip64: they ask for the versions of its functions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conformance.emulate.installation import hip_versions, version_script
from conformance.toolchains.host import NoCompiler, find_toolchain
from tests.emulate.test_programs import emulate, functions

ASKED = {
    "hipGetDeviceCount": "hip_4.2",
    "hiprtcVersion": "hip_4.2",
    "hipGraphLaunch": "hip_4.3",
    "hipStreamWaitValue32": "hip_4.4",
    "hipGraphAddHostNode": "hip_4.5",
    "hipPointerGetAttribute": "hip_5.0",
    "hipMallocAsync": "hip_5.1",
    "hipMemcpy_spt": "hip_5.2",
    "hipLaunchHostFunc": "hip_5.3",
    "hipGetDevicePropertiesR0600": "hip_6.0",
    "hipGetProcAddress": "hip_6.1",
    "hipGetFuncBySymbol": "hip_6.2",
    "hipLinkCreate": "hip_6.4",
    "hipLaunchKernelExC": "hip_6.5",
    "hipStreamGetId": "hip_7.1",
    "hipLibraryLoadData": "hip_7.2",
}
"""A function of each version in AMD's library of ROCm 7.2, and one of hiprtc, which ROCm 6 has there too."""

PROGRAM = """
#include <stdio.h>
{declarations}
int main(void) {{
  int count = -1, error = hipGetDeviceCount(&count), there = 0, major = 0, minor = 0;
  int (*all[])() = {{{names}}};
  for (unsigned n = 0; n < sizeof all / sizeof *all; ++n) there += all[n] != 0;
  error += hiprtcVersion(&major, &minor);
  printf("%d %d %d %d\\n", error, count, there, major);
  return 0;
}}
"""


def compiled(folder: Path, text: str, *options: object) -> None:
    """Compile C for the host, or skip."""
    try:
        compiler = find_toolchain(links_standard_library=True).compiler
    except NoCompiler as error:
        pytest.skip(f"NOTHING COMPILED: {error}")
    source = folder / "source.c"
    source.write_text(text)
    words = [*compiler, "-std=gnu11", "-x", "c", source, "-x", "none", *options]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Linked with a library that has the functions of ``ASKED`` as AMD's has them, and returns 0 from each."""
    library, versions, made = tmp_path / "libamdhip64.so.6", tmp_path / "versions.map", tmp_path / "program"
    before, text = "", ""
    for version in dict.fromkeys(ASKED.values()):
        names = " ".join(f"{name};" for name, its in ASKED.items() if its == version)
        text += f"{version} {{ global: {names} }} {before};\n"
        before = version
    versions.write_text(text)
    functions_of = "".join(f"int {name}(void) {{ return 0; }}\n" for name in ASKED)
    options = ("-shared", "-fPIC", f"-Wl,-soname,{library.name}", f"-Wl,--version-script={versions}")
    compiled(tmp_path, functions_of, *options, "-o", library)
    declarations = "".join(f"int {name}();\n" for name in ASKED)
    compiled(tmp_path, PROGRAM.format(declarations=declarations, names=", ".join(ASKED)), library, "-o", made)
    return made


@pytest.mark.nightly("builds the runtime of programs and a program")
def test_a_program_linked_with_amd_s_library_finds_every_version(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_BIND_NOW", "1")
    done = emulate("--devices", 3, "--", program)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"0 3 {len(ASKED)} 9\n", "")


def test_every_function_with_a_version_is_there() -> None:
    """A linker may refuse a version of a function that the library lacks."""
    versions = hip_versions()
    assert list(versions) == sorted(versions)
    of_headers = {
        "hipChooseDeviceR0600",
        "hipGetDevicePropertiesR0600",
    }  # what a header calls hipChooseDevice, and so on
    assert set(versions) - set(functions()) == of_headers
    assert {name: versions.get(name, "hip_4.2") for name in ASKED} == ASKED


def test_each_version_follows_the_one_before() -> None:
    assert version_script({"hipB": "hip_6.0", "hipA": "hip_4.3", "hipC": "hip_4.3"}) == (
        "hip_4.2 { global: hip*; __hip*; simt_*; __wrap_*; local: *; };\n"
        "hip_4.3 { global: hipA; hipC; } hip_4.2;\n"
        "hip_6.0 { global: hipB; } hip_4.3;\n"
    )
