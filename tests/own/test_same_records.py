"""What is recorded of Candle's kernels is the same with and without own kernels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.record import read_record
from tests.commands import answer
from tests.house.same_records import differences
from tests.own.ports import DECLARATION, OwnPort

OF_CANDLE = """
#include <hip/hip_runtime.h>

extern "C" __global__ void fill_u8(unsigned char *buf, unsigned char value, const size_t numel) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x) buf[i] = value;
}

extern "C" __global__ void fill_f32(float *buf, float value, const size_t numel) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i + 1 < numel; i += blockDim.x * gridDim.x) buf[i] = value;
}
"""


@pytest.mark.nightly("compiles two files and judges four kernels, twice")
def test_records_of_candles_kernels_are_the_same(port: OwnPort, capfd: pytest.CaptureFixture[str]) -> None:
    """Of kernels that pass and fail, and of the hundreds that the port has not."""
    port.kernels.with_name("fill.hip").write_text(OF_CANDLE)
    for file, options in (("with.json", ("--own",)), ("unasked.json", ()), ("without.json", ())):
        own = ("fadd_relu_f32(shape=[3,5,7],layout=transposed,values=unit)",) if options else ()
        if file == "without.json":
            port.declaration.write_text(DECLARATION.partition("[own]")[0])
        words = ("run", "--runtime", "cpu", "-j", "1", "fill_u8", "fill_f32", *own, *options, "--json", file)
        assert answer(capfd, *words).code == 1
    without = read_record(Path("without.json"))
    assert {row.name: row.status for row in without.kernels if row.cases} == {"fill_u8": "pass", "fill_f32": "fail"}
    assert list(differences(read_record(Path("unasked.json")), without)) == []
    record = read_record(Path("with.json"))
    assert [row.status for row in record.own] == ["pass", "not_run"]
    asked = record.run.model_copy(update={"patterns": without.run.patterns, "own_digest": None})
    assert list(differences(record.with_parts({"own": ()}, asked), without)) == []
    with_own, without_own = (json.loads(Path(file).read_text()) for file in ("with.json", "without.json"))
    assert with_own["summary"] == without_own["summary"]
