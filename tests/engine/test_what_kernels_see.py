"""What a process that runs kernels gets of the environment: no token of a CI, and what its runtime needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.emulate.installation import INTERPRETER, ON_HOST, environment
from conformance.environment import PASS, handed
from conformance.runtimes import NAMES, runtime_kind
from tests.engine.test_executors import LOOP, ran

NOSY = f"""#include <hip/hip_runtime.h>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>
extern char **environ;
extern "C" __global__ void fill_u32(unsigned *p, unsigned v, size_t n) {{
  {LOOP} p[i] = v;
  if (threadIdx.x || blockIdx.x) return;
  for (char **name = environ; *name; ++name) printf("saw %s\\n", *name);
  // As the process was started, whatever it has set since.
  char text[4096];
  const int file = open("/proc/self/environ", O_RDONLY);
  for (long size; (size = read(file, text, sizeof text - 1)) > 0;) {{
    text[size] = 0;
    for (long at = 0; at < size; at += __builtin_strlen(text + at) + 1) printf("%s\\n", text + at);
  }}
}}
"""


@pytest.mark.slow("whole runs, in processes of their own")
def test_a_kernel_cannot_print_a_token(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "fill.hip").write_text(NOSY)
    secrets = {"GITHUB_TOKEN": "worth-a-lot", "NVIDIA_API_KEY": "worth-a-lot", "DEPLOY": "worth-a-lot"}
    seen = ran(
        tmp_path,
        "fill_u32(shape=[1],value=pattern)",
        "--kernels",
        str(tmp_path / "tree"),
        "-j",
        "1",
        MISTAKE="passed",
        **secrets,
    )
    assert seen.kernels["fill_u32"]["status"] == "pass"
    assert "saw PATH=" in seen.err
    assert "MISTAKE=passed" in seen.err, f"what {PASS} names"
    assert "worth-a-lot" not in seen.err


@pytest.mark.parametrize("runtime", NAMES)
def test_no_runtime_gets_a_secret(runtime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PASS)
    needed = {"PATH": "/bin", "HOME": "/root", "LD_LIBRARY_PATH": "/opt/rocm/lib", "CANDLE_PARITY_CACHE": "/c"}
    others = ("AWS_SECRET_ACCESS_KEY", "CI_JOB_JWT", "SSH_AUTH_SOCK", "ACTIONS_RUNTIME_TOKEN", "PIP_INDEX_URL")
    keys = ("NVIDIA_API_KEY", "AMD_API_TOKEN", "CANDLE_PARITY_PASSWORD", "HIP_SECRET", "CUDA_AUTH_KEY")
    assert handed(runtime_kind(runtime).environment, needed | dict.fromkeys((*others, *keys), "x")) == needed


@pytest.mark.parametrize(
    ("runtime", "name"),
    [
        ("rocm", "HIP_VISIBLE_DEVICES"),
        ("rocm", "ROCR_VISIBLE_DEVICES"),
        ("rocm", "HSA_OVERRIDE_GFX_VERSION"),
        ("rocm", "GPU_DEVICE_ORDINAL"),
        ("rocm", "AMD_LOG_LEVEL"),
        ("rocm", "ROCM_PATH"),
        ("rocm", "ROCBLAS_TENSILE_LIBPATH"),
        ("cuda", "CUDA_VISIBLE_DEVICES"),
        ("cuda", "CUDA_HOME"),
        ("cuda", "HIPCUDA_NVRTC"),
        ("cpu", "HIPCPU_GUARD"),
    ],
)
def test_a_runtime_gets_what_it_needs(runtime: str, name: str) -> None:
    assert handed(runtime_kind(runtime).environment, {name: "x"}) == {name: "x"}


@pytest.mark.parametrize("runtime", [INTERPRETER, ON_HOST])
def test_a_run_inside_of_emulate_gets_all_that_emulate_set(runtime: str, tmp_path: Path) -> None:
    """Otherwise its libamdhip64 is of another GPU than the run asked for."""
    given = environment(tmp_path, "gfx1100", {}, devices=2, runtime=runtime)
    assert handed(runtime_kind("rocm").environment, given).items() >= {
        (name, value) for name, value in given.items() if name != "LIBRARY_PATH"
    }
