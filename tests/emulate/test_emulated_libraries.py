"""The libraries of an emulated ROCm: judged as a vendor's are, called by programs, and at the edges of their calls."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from ctypes import byref, c_double, c_float, c_int, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.emulate.installation import RUNTIMES
from conformance.emulate.libraries import LIBRARIES, libraries_plan
from conformance.runtimes.cpu.build import build
from conformance.runtimes.hip import matrix_products, random_numbers
from tests.commands import answer
from tests.emulate.test_programs import PROGRAMS, TARGETS, Build, built, emulate

__all__ = ["built"]

TRACES = Path(__file__).resolve().parents[2] / "reference" / "traces"
NO_TRANSPOSE, TRANSPOSE = 111, 112
F16, F32, F64, I8, I32, BF16 = 150, 151, 152, 160, 162, 168


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The libraries, outside of the cache, which executors cannot read."""
    copies = tmp_path_factory.mktemp("libraries")
    made = build(libraries_plan())
    for library in LIBRARIES:
        shutil.copy(made / library.file, copies)
    return copies


def judged(capsys: pytest.CaptureFixture[str], file: Path, *words: object) -> dict[str, str]:
    """The status of each library call in the record of ``words``."""
    answer(capsys, *words, "--runtime", "cpu", "--jobs", 1, "--json", file)
    return {row["name"]: row["status"] for row in json.loads(file.read_text())["libraries"]}


@pytest.mark.nightly("builds the libraries and judges every case of them")
@pytest.mark.parametrize("name", ["rocblas", "hipblas"])
def test_every_case_of_matrix_products_passes(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(matrix_products.VARIABLE, str(folder / f"lib{name}.so"))
    found = judged(capsys, tmp_path / "record.json", "run", "--module", "libraries", "gemm_*")
    assert found == dict.fromkeys(("gemm_bf16", "gemm_f16", "gemm_f32", "gemm_f64"), "pass")


@pytest.mark.nightly("builds the libraries and judges every case of them")
@pytest.mark.parametrize("name", ["rocrand", "hiprand"])
def test_every_case_of_random_numbers_passes(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(random_numbers.VARIABLE, str(folder / f"lib{name}.so"))
    found = judged(capsys, tmp_path / "record.json", "run", "--module", "libraries", "rand_*")
    assert found == dict.fromkeys(
        ("rand_normal_f32", "rand_normal_f64", "rand_uniform_f32", "rand_uniform_f64"), "pass"
    )


@pytest.mark.nightly("builds the libraries and replays the recorded calls of cuBLAS")
def test_the_recorded_calls_of_cublas_pass(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(matrix_products.VARIABLE, str(folder / "librocblas.so"))
    found = judged(capsys, tmp_path / "record.json", "replay", TRACES, "gemm_*", "--subject", "kernels")
    assert found == dict.fromkeys(("gemm_bf16", "gemm_f16", "gemm_f32", "gemm_f64"), "pass")


@pytest.mark.nightly("builds the runtime of programs and a program")
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("arch", TARGETS)
def test_a_program_multiplies_matrices(built: Build, arch: str, runtime: str, tmp_path: Path) -> None:
    built("saxpy.hip", arch)  # or skips
    program = tmp_path / "gemm"
    words = (PROGRAMS / "gemm.cpp", "-lrocblas", "-lhipblas", "-o", program)
    assert emulate("--runtime", runtime, "--arch", arch, "--", "hipcc", *words).returncode == 0
    done = emulate("--runtime", runtime, "--arch", arch, "--", program)
    assert done.stdout.splitlines() == [
        "rocBLAS: 0 wrong",
        "rocblas_status_not_implemented",
        *["rocblas_status_internal_error"] * 4,
        "captured: 12 wrong, launched: 0 wrong, launched: 0 wrong, freed: hipErrorLaunchFailure",
        "hipBLAS: 0 wrong",
    ]
    cut_off = "144 bytes at the A, 0 bytes into it, reach 48 bytes past the end of the 96-byte allocation"
    too_long = "52 bytes at the destination, 0 bytes into it, reach 4 bytes past the end of the 48-byte allocation"
    assert done.stderr.splitlines() == [
        "candle-parity: rocblas_cgemm is not emulated by candle-parity",
        f"candle-parity: rocblas_sgemm_strided_batched: {cut_off}",
        "candle-parity: rocblas_sgemm_strided_batched: the A, a pointer, is not in a live device allocation",
        f"candle-parity: rocblas_set_vector: {too_long}",
        "candle-parity: rocblas_sdot: the stream is captured, and a graph cannot write a result to the host: "
        "set the pointer mode to device",
        "candle-parity: rocblas_sgemm_strided_batched: the B has been freed",
        "candle-parity: hipGraphLaunch: rocblas_sgemm_strided_batched has failed",
    ]
    assert done.returncode == 0


# Whether each launch of a graph writes the same numbers. Philox's state is in the kernel's arguments, XORWOW's is not.
GRAPHS = ["type 404: 1", "type 401: 0"]


@pytest.mark.nightly("builds the runtime of programs and a program")
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("arch", TARGETS)
def test_a_program_takes_random_numbers(built: Build, arch: str, runtime: str, tmp_path: Path) -> None:
    built("saxpy.hip", arch)  # or skips
    program = tmp_path / "rand"
    words = (PROGRAMS / "rand.cpp", "-lrocrand", "-lhiprand", "-o", program)
    assert emulate("--runtime", runtime, "--arch", arch, "--", "hipcc", *words).returncode == 0
    done = emulate("--runtime", runtime, "--arch", arch, "--", program)
    # The first four numbers are those of Random123's known answers for Philox4x32-10: counter and key 0.
    first = "6627e8d5 e169c58d bc57ac4c 9b00dbd8"
    assert done.stdout.splitlines() == [first, "uniform: 1", *GRAPHS, "normal: 1", "201"]
    cut_off = "40004 bytes at the output, 0 bytes into it, reach 4 bytes past the end of the 40000-byte allocation"
    assert done.stderr == f"candle-parity: hiprandGenerateNormal: {cut_off}\n"


OPENING = """
import ctypes, sys
for name in sys.argv[1:]: ctypes.CDLL(name)
"""


@pytest.mark.nightly("builds the runtime of programs")
def test_programs_find_the_libraries_by_the_names_of_each_release() -> None:
    names = [name for library in LIBRARIES for name in library.files]
    assert {"librocblas.so.4", "librocblas.so.5", "libhipblas.so.2", "libhipblas.so.3", "librocrand.so.1"} < set(names)
    done = emulate("--", sys.executable, "-c", OPENING, *names)
    assert (done.returncode, done.stderr) == (0, "")


REFUSED = """
import ctypes, sys
for row in sys.stdin.read().split():
    file, name = row.split(":")
    print(getattr(ctypes.CDLL(file), name)())
"""


@pytest.mark.slow("builds the libraries, once for all of these tests")
def test_a_function_that_is_absent_says_so_and_fails(folder: Path) -> None:
    rows = [(library, name) for library in LIBRARIES for name, of_text in library.absent().items() if not of_text]
    given = "\n".join(f"{folder / library.file}:{name}" for library, name in rows)
    done = subprocess.run(
        [sys.executable, "-c", REFUSED], input=given, capture_output=True, text=True, check=False, env=_saying()
    )
    assert done.returncode == 0, done.stderr[-1000:]
    assert done.stdout.split() == [str(library.refusal) for library, _ in rows]
    assert done.stderr.splitlines() == [f"candle-parity: {name} is not emulated by candle-parity" for _, name in rows]


def _saying() -> dict[str, str]:
    return {**os.environ, "HIPCPU_SAY": "1"}


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_the_lists_of_absent_functions_are_in_order(library: Any) -> None:
    names = list(library.absent())
    assert names == sorted(set(names))
    assert all(name.startswith((library.name.lower(), "miopen")) for name in names)


# ---- calls, on the host's memory: no libamdhip64 of ours is in this process


@pytest.fixture(scope="module")
def blas(folder: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(folder / "librocblas.so"))


@pytest.fixture(scope="module")
def handle(blas: ctypes.CDLL) -> c_void_p:
    made = c_void_p()
    assert blas.rocblas_create_handle(byref(made)) == 0
    return made


def at(array: np.ndarray[Any, Any]) -> c_void_p:
    return c_void_p(array.ctypes.data)


def gemm_ex(blas: ctypes.CDLL, handle: c_void_p, arrays: Any, numbers: Any, types: Any, sizes: Any = (2, 2, 3)) -> int:
    """rocblas_gemm_ex of matrices column after column, without transposes."""
    (a, b, c, d), (alpha, beta), (ab, cd, compute), (m, n, k) = arrays, numbers, types, sizes
    first = (handle, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, byref(alpha), at(a), ab, m, at(b), ab, k, byref(beta))
    status: int = blas.rocblas_gemm_ex(*first, at(c), cd, m, at(d), cd, m, compute, 0, 0, 0)
    return status


@pytest.mark.slow("builds the libraries, once for all of these tests")
def test_a_product_is_scaled_and_added_to_another_matrix_than_its_result(blas: ctypes.CDLL, handle: c_void_p) -> None:
    a, b = np.arange(6, dtype=np.float32), np.arange(6, dtype=np.float32)
    c, d = np.full(4, 10, np.float32), np.full(4, np.nan, np.float32)
    status = gemm_ex(blas, handle, (a, b, c, d), (c_float(2), c_float(-1)), (F32, F32, F32))
    assert status == 0
    assert d.tolist() == (2 * (b.reshape(2, 3) @ a.reshape(3, 2)) - 10).reshape(-1).tolist()
    assert c.tolist() == [10] * 4


@pytest.mark.slow("builds the libraries, once for all of these tests")
def test_without_beta_what_was_there_has_no_part_and_without_alpha_the_operands_have_none(
    blas: ctypes.CDLL, handle: c_void_p
) -> None:
    operands, result = np.full(6, np.nan, np.float64), np.full(4, np.nan, np.float64)
    arrays = (operands, operands, result, result)
    assert gemm_ex(blas, handle, arrays, (c_double(0), c_double(0)), (F64, F64, F64)) == 0
    assert result.tolist() == [0] * 4


@pytest.mark.slow("builds the libraries, once for all of these tests")
def test_products_of_bytes_are_integers(blas: ctypes.CDLL, handle: c_void_p) -> None:
    a, b, c = np.full(6, -128, np.int8), np.full(6, 127, np.int8), np.zeros(4, np.int32)
    assert gemm_ex(blas, handle, (a, b, c, c), (c_int(1), c_int(0)), (I8, I32, I32)) == 0
    assert c.tolist() == [-128 * 127 * 3] * 4


@pytest.mark.slow("builds the libraries, once for all of these tests")
def test_sums_are_of_the_compute_type(blas: ctypes.CDLL, handle: c_void_p) -> None:
    """2048 ones and one more: a sum of halves stays at 2048, whose ulp is 2."""
    ones, found = np.ones(2050, np.float16), np.zeros(1, np.float16)
    half = ctypes.c_uint16(0x3C00)
    arrays = (ones, ones, found, found)
    assert gemm_ex(blas, handle, arrays, (half, ctypes.c_uint16(0)), (F16, F16, F16), (1, 1, 2050)) == 0
    assert found[0] == 2048
    assert gemm_ex(blas, handle, arrays, (c_float(1), c_float(0)), (F16, F16, F32), (1, 1, 2050)) == 0
    assert found[0] == 2050


SUCCESS, NOT_IMPLEMENTED, INVALID_POINTER, INVALID_SIZE, INVALID_VALUE = 0, 2, 3, 4, 11
NOTHING, ONE = c_float(0), c_float(1)
EDGES = {
    "nothing to do": ({"m": 0, "c": None}, SUCCESS),
    "an operation that is none": ({"ta": 7}, INVALID_VALUE),
    "a negative size": ({"k": -1}, INVALID_SIZE),
    "columns that overlap": ({"lda": 1}, INVALID_SIZE),
    "no result": ({"c": None}, INVALID_POINTER),
    "no operand": ({"a": None}, INVALID_POINTER),
    "no operand, and no alpha to multiply it by": ({"a": None, "alpha": NOTHING}, SUCCESS),
    "no matrix to add": ({"c": None, "d": np.ones(4, np.float32)}, INVALID_POINTER),
    "no matrix to add, and no beta to multiply it by": (
        {"c": None, "d": np.ones(4, np.float32), "beta": NOTHING},
        SUCCESS,
    ),
    "types that no product has": ({"compute": F64}, NOT_IMPLEMENTED),
}


@pytest.mark.slow("builds the libraries, once for all of these tests")
@pytest.mark.parametrize("edge", EDGES)
def test_arguments_are_checked_as_rocblas_documents(blas: ctypes.CDLL, handle: c_void_p, edge: str) -> None:
    change, wanted = EDGES[edge]
    array = np.ones(4, np.float32)
    usual = {"ta": NO_TRANSPOSE, "m": 2, "k": 2, "lda": 2, "compute": F32, "alpha": ONE, "beta": ONE}
    given: dict[str, Any] = usual | {"a": at(array), "c": at(array)} | change
    sizes, c = (given["m"], 2, given["k"]), given["c"]
    d = at(given["d"]) if "d" in given else c
    operands = (given["a"], F32, given["lda"], at(array), F32, 2)
    first = (handle, given["ta"], NO_TRANSPOSE, *sizes, byref(given["alpha"]), *operands, byref(given["beta"]))
    assert blas.rocblas_gemm_ex(*first, c, F32, 2, d, F32, 2, given["compute"], 0, 0, 0) == wanted


@pytest.mark.slow("builds the libraries, once for all of these tests")
def test_a_call_without_a_handle_is_refused(blas: ctypes.CDLL) -> None:
    assert blas.rocblas_set_stream(None, None) == 1
    assert blas.rocblas_sscal(None, 0, None, None, 1) == 1


@pytest.mark.slow("builds the libraries, once for all of these tests")
def test_vectors_are_scaled_added_and_multiplied(blas: ctypes.CDLL, handle: c_void_p) -> None:
    x, y = np.arange(6, dtype=np.float32), np.ones(3, np.float32)
    two, found = c_float(2), c_float()
    assert blas.rocblas_saxpy(handle, 3, byref(two), at(x), 2, at(y), -1) == 0
    assert y.tolist() == [9, 5, 1]
    assert blas.rocblas_sdot(handle, 3, at(x), 1, at(y), 1, byref(found)) == 0
    assert found.value == 7
    assert blas.rocblas_sscal(handle, 2, byref(two), at(x), 3) == 0
    assert x.tolist() == [0, 1, 2, 6, 4, 5]


# A has two rows and three columns; the vector has every other element of 1, 0, 2, 0, 3, 0.
VECTORS = {"A": (NO_TRANSPOSE, [16, 22]), "A transposed": (TRANSPOSE, [2, 8, 14])}


@pytest.mark.slow("builds the libraries, once for all of these tests")
@pytest.mark.parametrize("operand", VECTORS)
def test_a_matrix_times_a_vector(blas: ctypes.CDLL, handle: c_void_p, operand: str) -> None:
    operation, wanted = VECTORS[operand]
    a, x = np.arange(6, dtype=np.float64), np.array([1, 0, 2, 0, 3, 0], np.float64)
    y = np.full(len(wanted), np.nan)
    one, zero = c_double(1), c_double(0)
    arguments = (handle, operation, 2, 3, byref(one), at(a), 2, at(x), 2, byref(zero), at(y), 1)
    assert blas.rocblas_dgemv(*arguments) == 0
    assert y.tolist() == wanted


@pytest.fixture(scope="module")
def rand(folder: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(folder / "librocrand.so"))


PHILOX, XORWOW, SOBOL = 404, 401, 501


def drawn(rand: ctypes.CDLL, kind: int, *counts: int, seed: int = 7, offset: int = 0) -> list[int]:
    """Numbers of a new generator, in as many calls as there are counts."""
    generator = c_void_p()
    assert rand.rocrand_create_generator(byref(generator), kind) == 0
    assert rand.rocrand_set_seed(generator, c_uint64(seed)) == 0
    assert rand.rocrand_set_offset(generator, c_uint64(offset)) == 0
    found: list[int] = []
    for count in counts:
        numbers = (c_uint32 * count)()
        assert rand.rocrand_generate(generator, numbers, ctypes.c_size_t(count)) == 0
        found += numbers
    assert rand.rocrand_destroy_generator(generator) == 0
    return found


@pytest.mark.slow("builds the libraries, once for all of these tests")
@pytest.mark.parametrize("kind", [PHILOX, XORWOW])
def test_calls_and_offsets_continue_one_stream(rand: ctypes.CDLL, kind: int) -> None:
    whole = drawn(rand, kind, 23)
    assert len(set(whole)) == 23
    assert drawn(rand, kind, 3, 1, 14, 5) == whole
    assert drawn(rand, kind, 18, offset=5) == whole[5:]
    assert drawn(rand, kind, 23, seed=8) != whole


@pytest.mark.slow("builds the libraries, once for all of these tests")
def test_types_have_streams_of_their_own(rand: ctypes.CDLL) -> None:
    assert not set(drawn(rand, PHILOX, 100)) & set(drawn(rand, XORWOW, 100))


@pytest.mark.slow("builds the libraries, once for all of these tests")
def test_a_type_that_is_not_made_is_refused(rand: ctypes.CDLL) -> None:
    assert rand.rocrand_create_generator(byref(c_void_p()), SOBOL) == 103


@pytest.mark.slow("builds the libraries, once for all of these tests")
def test_an_odd_count_of_normal_numbers_begins_as_an_even_one(rand: ctypes.CDLL) -> None:
    found = []
    for count in (3, 4):
        generator, numbers = c_void_p(), np.zeros(4, np.float32)
        assert rand.rocrand_create_generator(byref(generator), PHILOX) == 0
        arguments = (generator, at(numbers), ctypes.c_size_t(count), c_float(0), c_float(1))
        assert rand.rocrand_generate_log_normal(*arguments) == 0
        found.append(numbers)
    assert found[0][:3].tolist() == found[1][:3].tolist()
    assert (found[0][3], (found[1] > 0).all()) == (0, True)
