"""A library of launchers, compiled with the headers of each release and loaded next to AMD's own libamdhip64.

There is no GPU: what can be seen is that each function it calls is there, that its kernels are registered, and that a
launch comes as far as to ask for a device.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.toolchains.libraries import amd_library_compiler
from tests.launchers.test_launchers import LAUNCHER, TREE
from tests.rocm_libraries.box import OPT_ROCM
from tests.rocm_libraries.conftest import GetBox
from tests.rocm_libraries.libraries import Libraries
from tests.rocm_libraries.test_kernels import any_python

CALL = """
import ctypes, json, sys
from pathlib import Path
from conformance.runtimes.rocm.control import RocmRuntime
from conformance.toolchains.libraries import amd_library_compiler
source, name, folder = sys.argv[1:]
compiler = amd_library_compiler("gfx942")
library = Path(folder, "library")
compiler.compile(Path(source), library)
runtime = RocmRuntime()
from hip import hip
loaded = runtime.load_launchers(library.read_bytes(), "quantize.hip")
prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int] * 3, ctypes.c_void_p)
hip.hipGetLastError()
prototype(runtime.symbol(loaded, name))(None, None, 32, 512, 1, None)
pending = hip.hipGetLastError()[0]
headers = [word for word in compiler.command if word.startswith("/opt/rocm")]
print(json.dumps({"pending": pending.name, "headers": headers, "none": runtime.symbol(loaded, "other")}))
"""


@pytest.mark.slow("compiles a library of launchers with AMD's headers")
def test_a_library_is_compiled_and_loaded_and_its_launch_asks_for_a_device(
    libraries: Libraries, get_box: GetBox, tmp_path: Path
) -> None:
    box, lacking = get_box(libraries, OPT_ROCM), amd_library_compiler("gfx942")
    if isinstance(lacking, str):
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {lacking}")
    done = box.run([any_python(), "-c", CALL, str(TREE / "quantize.hip"), LAUNCHER, str(tmp_path)])
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said == {"pending": "hipErrorNoDevice", "headers": ["/opt/rocm/include"], "none": None}
