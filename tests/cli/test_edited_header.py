"""A header that is edited between two runs changes verdict and record, also one that only a preprocessor can find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SOURCE = """\
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#include TEXT(sign.txt)
extern "C" __global__ void uneg_f32(size_t numel, size_t num_dims, const size_t *info, const float *inp, float *out) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x) out[i] = SIGN inp[i];
}
"""


@pytest.mark.slow("whole runs by the command")
@pytest.mark.parametrize("words", [(), ("--reuse",)], ids=["run", "run --reuse"])
def test_an_edited_header_is_judged(cli: Any, port: Any, words: tuple[str, ...]) -> None:
    folder: Path = port(SOURCE)
    seen = []
    for sign in ("-", "+", "-"):
        (folder / "sign.txt").write_text(f"#define SIGN {sign}\n")
        said = cli("run", "uneg_f32(shape=[64],values=unit)", "--runtime", "cpu", "--kernels", folder, *words)
        seen.append((said.kernel("uneg_f32")["status"], said.record["run"]["sources"]))
    assert [status for status, _ in seen] == ["pass", "fail", "pass"]
    assert seen[0] == seen[2]
    assert seen[0][1] != seen[1][1]
