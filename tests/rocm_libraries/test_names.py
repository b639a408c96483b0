"""What HIP sources find on the cpu runtime, AMD's own headers have too: name by name, through each release's hiprtc.

A name that only we had would let a port pass here that no ROCm compiles.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import pytest

from conformance.runtimes.cpu.build import INCLUDE, forwarding_headers, write_headers
from tests.cpu_hiprtc.conftest import compiler
from tests.rocm_libraries.box import OPT_ROCM
from tests.rocm_libraries.conftest import GetBox
from tests.rocm_libraries.libraries import Libraries
from tests.rocm_libraries.releases import RELEASES
from tests.rocm_libraries.test_kernels import any_python

HEADERS = "".join(f"#include <hip/hip_{name}.h>\n" for name in ("runtime", "fp16", "bf16", "bfloat16", "fp8"))
# The name in front of the parameters of "inline __attribute__((always_inline)) TYPE name(".
FUNCTION = re.compile(r"inline __attribute__\(\(always_inline\)\) [\w:<>&* ]*?[ *&](\w+)\(")
# Which 8-bit floats are declared depends on the target.
OURS = re.compile(
    r"__(?!hip_fp8)\w+|(?:unsafeA|safeA|a)tomic[A-Z]\w+|make_\w+|(?!bits_of)\w+(?:f|pi)|clock64|wall_clock64"
)

LATER = {
    "6.4": {"__hadd_rn", "__hsub_rn", "__hmul_rn", "__match_any", "__activemask", "__syncwarp"},
}
"""What a release has not yet, or only where HIP_ENABLE_WARP_SYNC_BUILTINS is defined, and later ones always have."""

FINE = "compiled"
COMPILE = f"""
import sys
from pathlib import Path
from conformance.runtimes import runtime_kind
from conformance.toolchains.compile_error import CompileError
from conformance.runtimes.hip.rtc import compile_source
options = runtime_kind("rocm").open_compiler(None)
try:
    words = (*options, "-std=c++17", "--offload-arch=gfx1201", "-ferror-limit=0")
    compile_source(Path(sys.argv[1]).read_text(), "names.hip", words)
    print("{FINE}")
except CompileError as error:
    print(error.log)
"""


def names() -> list[str]:
    """The functions that the HIP dialect declares, with all of HIP's headers included."""
    with tempfile.TemporaryDirectory() as forwards:
        write_headers(forwarding_headers("cpu", INCLUDE), Path(forwards))
        folders = ["-I", str(INCLUDE), "-I", forwards]
        command = [compiler(), "-std=c++20", "-x", "c++", *folders, "-include", "simt/prelude.h", "-E", "-P"]
        done = subprocess.run([*command, "-"], input=HEADERS, capture_output=True, text=True, check=True)
    outside = re.sub(r"namespace simt \{.*?\n\}", "", done.stdout, flags=re.DOTALL)
    return sorted({name for name in FUNCTION.findall(outside) if OURS.fullmatch(name)})


@pytest.mark.nightly("compiles a use of every name with AMD's headers")
@pytest.mark.parametrize("libraries", RELEASES, indirect=True, ids=[release.name for release in RELEASES])
def test_amd_declares_every_function_that_hip_sources_find_here(
    libraries: Libraries, get_box: GetBox, tmp_path: Path
) -> None:
    found = names()
    assert len(found) > 300
    uses = "".join(f"#ifndef {name}\nusing ::{name};\n#endif\n" for name in found)
    box = get_box(libraries, OPT_ROCM)
    source = tmp_path / "names.hip"
    source.write_text(f"{HEADERS}namespace tried {{\n{uses}}}\n")
    done = box.run([any_python(), "-c", COMPILE, str(source)])
    assert done.returncode == 0, done.stderr
    unknown = set(re.findall(r"no member named '(\w+)' in the global namespace", done.stdout))
    late = {name for name in unknown if name.endswith("_sync")} | LATER.get(libraries.version[:3], set())
    assert unknown - late == set()
    assert unknown or FINE in done.stdout
