"""Matrix products of a vendor's library: cases as Candle calls them, the reference, and what a library does wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference
from conformance.cases import cases_for, launch_for
from conformance.cases.launch import Buffer, Scalar
from conformance.record import read_record
from conformance.report.causes import find_causes
from conformance.runtimes.hip.matrix_products import VARIABLE, open_products
from conformance.runtimes.hip.vendor_library import NoLibrary
from conformance.spec.load import load_specs
from tests.commands import answer
from tests.libraries.stand_ins import compiled

SOURCE = Path(__file__).with_name("stand_in.cpp")
SPECS = load_specs()
DTYPES = ("bf16", "f16", "f32", "f64")


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Stand-ins for the libraries, by name."""
    files = {"cuBLAS": "libcublas.so.12", "hipBLAS": "libhipblas.so.3.0.1", "rocBLAS": "librocblas.so.4.2.60202"}
    return compiled(SOURCE, tmp_path_factory.mktemp("libraries"), files)


@pytest.fixture
def judged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, libraries: dict[str, Path]
) -> Any:
    """The record of library calls by a stand-in that makes a mistake, and what was said."""

    def judge(mistake: str = "", library: str = "cuBLAS", *words: str) -> tuple[Any, str]:
        monkeypatch.setenv("MISTAKE", mistake)
        monkeypatch.setenv(VARIABLE, str(libraries[library]))
        file = tmp_path / "record.json"
        about = (
            "run",
            "--runtime",
            "cpu",
            "--jobs",
            1,
            "--order",
            "forward",
            "--module",
            "libraries",
            *(words or ("gemm_*",)),
        )
        said = answer(capsys, *about, "--json", file)
        assert said.code == (1 if mistake else 0), said.err
        return read_record(file), said.out

    return judge


def _arguments(launch: Any) -> dict[str, Any]:
    return {arg.name: arg for arg in launch.args if isinstance(arg, Buffer | Scalar)}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.slow("makes the products of every case")
def test_the_call_of_a_case_is_the_product_that_candle_means(dtype: str) -> None:
    """What cuBLAS has in columns is, read in rows, the left operand times the right one, whatever their layouts."""
    kernel = SPECS.libraries[f"gemm_{dtype}"]
    for case in cases_for(kernel):
        fields = dict(case.fields)
        m, n, k, batch = (int(fields.get(name, 1)) for name in ("m", "n", "k", "batch"))
        launch = launch_for(kernel, case)
        sides = []
        for name, side, shape in (("b", "lhs", (m, k)), ("a", "rhs", (k, n))):
            buffer, layout = _arguments(launch)[name], fields.get(side, "row")
            assert buffer.start == int(fields.get(f"{side}_start", 0))
            count = 1 if layout.startswith("one") else batch
            flat = buffer.data[buffer.start : buffer.start + count * m * n * k // (n if side == "lhs" else m)]
            matrix = flat.reshape(count, *(shape[::-1] if layout.endswith("transposed") else shape))
            sides.append((matrix.swapaxes(1, 2) if layout.endswith("transposed") else matrix).astype(np.float64))
        with np.errstate(all="ignore"):
            meant = (sides[0] @ sides[1]).reshape(-1) if k < 4096 else None
            args = launch.reference_arguments()
            found = reference.evaluate(kernel.module, kernel.family, kernel.variant, 0, args)["c"]
        if meant is not None and fields.get("values") != "special":
            meant = np.broadcast_to(meant.reshape(-1, m * n), (batch, m * n)).reshape(-1)
            got = found.value[: batch * m * n].astype(np.float64)
            finite = np.isfinite(got)
            scale = max(1.0, float(np.abs(meant).max()))
            assert np.allclose(got[finite], meant[finite], rtol=2**-7, atol=scale * 2**-30), case.id


def test_a_sum_of_integers_has_one_right_result_and_a_long_one_of_fractions_an_interval() -> None:
    kernel = SPECS.libraries["gemm_f32"]
    widths = {}
    for text in ("values=integers", "k=1025"):
        (case,) = [case for case in cases_for(kernel) if text in case.id and "reduced" not in case.id]
        args = launch_for(kernel, case).reference_arguments()
        found = reference.evaluate(kernel.module, kernel.family, kernel.variant, 0, args)["c"]
        count = int(args["m"]) * int(args["n"])
        assert found.low is not None
        assert found.high is not None
        widths[text] = found.high[:count].astype(np.float64) - found.low[:count]
    assert not widths["values=integers"].any()
    assert widths["k=1025"].all()


@pytest.mark.slow("stand-ins of libraries, one for each mistake")
@pytest.mark.parametrize("library", ["cuBLAS", "hipBLAS", "rocBLAS"])
def test_every_library_is_called_as_it_wants_it(judged: Any, libraries: dict[str, Path], library: str) -> None:
    record, said = judged("", library)
    assert [(row.name, row.status) for row in record.libraries] == [(f"gemm_{dtype}", "pass") for dtype in DTYPES]
    version = {"cuBLAS": "12.8.4", "hipBLAS": "3.0.1", "rocBLAS": "4.2.60202"}[library]
    assert {row.source for row in record.libraries} == {f"{library} {version} ({libraries[library]})"}
    assert f"library: {library} {version}" in said


@pytest.mark.slow("stand-ins of libraries, one for each mistake")
def test_library_calls_are_counted_apart(judged: Any) -> None:
    record, said = judged("", "cuBLAS", "gemm_f32(m=3,n=5,k=7)")
    assert (record.summary.total, record.summary.cases, len(record.launchers)) == (748, 0, 0)
    assert "0 of 748 kernels at parity (0.0%), 1 of 8 library calls" in said


CAUSES = {
    "transposes": ("product-transposes", DTYPES),
    "leading": ("product-leading", DTYPES),
    "stride": ("product-stride", DTYPES),
    "beta": ("product-beta", DTYPES),
    "halves": ("product-halves", ("f16",)),
    "status": ("library-status", ("bf16", "f16", "f32")),
}


@pytest.mark.nightly("stand-ins of libraries, one for each mistake")
@pytest.mark.parametrize("mistake", CAUSES)
def test_a_mistake_fails_with_a_cause_that_names_it(judged: Any, mistake: str) -> None:
    record, _ = judged(mistake)
    wanted, dtypes = CAUSES[mistake]
    assert [row.name for row in record.libraries if row.status == "fail"] == [f"gemm_{dtype}" for dtype in dtypes]
    assert [finding.cause.id for finding in find_causes(record.libraries, SPECS)] == [wanted]


@pytest.mark.slow("stand-ins of libraries, one for each mistake")
def test_recorded_answers_judge_the_reference_on_any_machine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, libraries: dict[str, Path]
) -> None:
    monkeypatch.setenv(VARIABLE, str(libraries["cuBLAS"]))
    said = answer(capsys, "record", tmp_path / "traces", "--runtime", "cpu", "--jobs", 1, "gemm_f16")
    assert (said.code, said.out.splitlines()[-1].split(" recorded")[0]) == (0, "41 cases of 1 library call")
    monkeypatch.delenv(VARIABLE)
    file = tmp_path / "record.json"
    assert answer(capsys, "replay", tmp_path / "traces", "--subject", "reference", "--json", file).code == 0
    (row,) = json.loads(file.read_text())["libraries"]
    assert (row["status"], row["cases"]) == ("pass", 41)


@pytest.mark.slow("stand-ins of libraries, one for each mistake")
def test_where_there_is_no_library_a_call_is_not_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    said = answer(capsys, "run", "--runtime", "cpu", "--jobs", 1, "-q", "gemm_f32")
    assert said.code == 2
    assert "gemm_f32: no library of matrix products can be used (this runtime has none)" in said.err


def test_a_library_that_cannot_be_opened_or_is_another_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoLibrary, match=r"libnothing.so.*; libc.so.6 has the functions of none of cuBLAS, hipBLAS"):
        open_products([str(tmp_path / "libnothing.so"), "libc.so.6"])
