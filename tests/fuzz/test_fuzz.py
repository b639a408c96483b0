"""A small share of the fuzz, the same each time, and mistakes that it has to find and to shrink."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.cases.case import Case
from conformance.outcome import Outcome
from conformance.spec.load import load_specs
from tests.fuzz import parsers
from tests.fuzz.hunt import Find, Tally, of_kernels, smallest
from tests.fuzz.judges import Judges, wrong_in
from tests.fuzz.parsers import PARSERS, Parser, of_parser

SPECS = load_specs()
MODULES = sorted({kernel.module for kernel in (*SPECS.kernels.values(), *SPECS.launchers.values())})

PLANTED = """\
extern "C" __global__ void fill_f32(float *buf, float value, const size_t numel) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x)
    buf[i] = i == 1500 ? 0.0f : value;  // wrong from 1501 elements on
}
extern "C" __global__ void copy2d_f32(const float *src, float *dst, unsigned d1, unsigned d2, unsigned src_s,
                                      unsigned dst_s) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= d1 * d2) return;
  const bool unaligned = (size_t)src % 16 != 0;  // wrong with an offset
  dst[i / d2 * dst_s + i % d2] = unaligned ? 0.0f : src[i / d2 * src_s + i % d2];
}
"""


@pytest.fixture(scope="module")
def judges() -> Iterator[Judges]:
    with Judges(["cpu"]) as found:
        yield found


@pytest.mark.nightly("a few seconds of each fuzzer")
@pytest.mark.parametrize("module", MODULES)
def test_kernels(module: str, judges: Judges) -> None:
    kernels = [kernel for kernel in judges.kernels.values() if kernel.module == module]
    tally = Tally()
    smallest(of_kernels(judges, kernels, tally), 0, 6, derandomize=True)
    assert tally.tried[module] > 1


@pytest.mark.slow("a few seconds of each fuzzer")
@pytest.mark.parametrize("name", PARSERS)
def test_parsers(name: str) -> None:
    tally = Tally()
    smallest(of_parser(name, PARSERS[name], tally), 0, 40, derandomize=True)
    assert tally.tried[name] > 20


@pytest.mark.slow("a few seconds of each fuzzer")
def test_a_wrong_kernel_is_found_and_shrunk(tmp_path: Path) -> None:
    (tmp_path / "fill.hip").write_text(PLANTED)
    found = {}
    with Judges(["cpu"], tmp_path) as judges:
        for name in ("fill_f32", "copy2d_f32"):
            with pytest.raises(Find) as caught:
                smallest(of_kernels(judges, [judges.kernels[name]], Tally()), 0, 300, derandomize=True)
            found[name] = caught.value
    assert Case.parse(found["fill_f32"].given).get("shape") == "[1501]"
    assert found["copy2d_f32"].given == "copy2d_f32(shape=[1,1],values=wide,src_start=1)"
    assert "cpu: fail: " in found["copy2d_f32"].why


def test_a_launch_that_a_runtime_cannot_make_is_no_find() -> None:
    assert wrong_in(Outcome(name="fill_u8", status="not_run", message="no case was run")) is None
    assert wrong_in(Outcome(name="fill_u8", status="not_run", message="the judge died")) == "not_run: the judge died"


def _raises(content: bytes, _: Path) -> None:
    if b"[" in content:
        raise KeyError("name")


def _hangs(content: bytes, _: Path) -> None:
    while b"{" in content:
        time.sleep(0.01)


def _strays(content: bytes, folder: Path) -> None:
    if b"#" in content:
        (folder.parent / "stray").touch()


def _says_much(content: bytes, _: Path) -> None:
    if b"*" in content:
        raise ValueError("one\ntwo")


def test_what_is_found_is_cut_down() -> None:
    parser = Parser(list, lambda content, _: {}["name"] if content.count(b"[") > 1 else None)
    assert parsers.shrunk(parser, b"kernels = [[1, 2], 3]\n") == b"[["


@pytest.mark.slow("a few seconds of each fuzzer")
@pytest.mark.parametrize(
    ("read", "sign", "why"),
    [
        (_raises, b"[", "KeyError: 'name'"),
        (_hangs, b"{", "it takes over 0.05 s"),
        (_strays, b"#", "it writes ['stray']"),
        (_says_much, b"*", "not one line"),
    ],
)
def test_a_mistake_of_a_parser_is_found_and_shrunk(
    read: Callable[[bytes, Path], None], sign: bytes, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsers, "SECONDS", 0.05)
    parser = Parser(lambda: [b"a = 1\n"], read, (ValueError,), (b"[", b"{", b"#", b"*"))
    with pytest.raises(Find) as caught:
        smallest(of_parser("planted", parser, Tally()), 0, 100, derandomize=True)
    assert caught.value.given == repr(sign)
    assert why in caught.value.why
