"""Ordinary kernels, compiled for each target: no instruction is unknown, and the answers are the host's.

By default each of four targets is compiled with one level; ``CANDLE_PARITY_CORPUS=full`` asks for all of ``TARGETS``
with all of ``LEVELS``.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from conformance.port.code_objects import functions, parse
from conformance.toolchains.amd import HIPCC_KINDS, find_toolchain
from conformance.toolchains.targets import AmdError, targets_of
from tests.isa_runtime import corpus
from tests.isa_runtime.corpus import Words
from tests.isa_runtime.machine import Machine

TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201", "gfx906", "gfx908", "gfx1030", "gfx1151")
LEVELS = ("-O3", "-O1", "-O0")
USUAL = (("gfx942", "-O3"), ("gfx1201", "-O3"), ("gfx1100", "-O1"), ("gfx90a", "-O0"))
FULL = tuple((target, level) for target in TARGETS for level in LEVELS)
DUAL = "v_dual"
"""How two instructions in one are decoded; a launch says whether it knows them."""


@dataclass(frozen=True)
class Built:
    """A unit of the corpus for a target."""

    target: str
    code: bytes

    @property
    def wave(self) -> int:
        return 64 if self.target.startswith("gfx9") else 32


@pytest.fixture(scope="module")
def host() -> dict[int, dict[str, Words]]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(corpus.host_answers, (64, 32)).result()


@pytest.fixture(
    scope="module",
    params=FULL if os.environ.get("CANDLE_PARITY_CORPUS") == "full" else USUAL,
    ids="".join,
)
def built(request: pytest.FixtureRequest) -> Built:
    target, level = request.param
    (wanted,) = targets_of(target)
    try:
        toolchain = find_toolchain([wanted], HIPCC_KINDS)
    except AmdError as missing:
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {missing}")
    return Built(target, corpus.compiled(toolchain, wanted, level))


@pytest.mark.nightly("compiles for AMD targets and interprets the code, every source for each target")
def test_there_are_over_300_kernels(host: dict[int, dict[str, Words]]) -> None:
    assert len(host[64]) > 300
    assert set(corpus.ULPS) <= set(host[64])


@pytest.mark.nightly("compiles for AMD targets and interprets the code, every source for each target")
def test_every_kernel_writes(host: dict[int, dict[str, Words]]) -> None:
    assert [kernel for wave in (64, 32) for kernel, words in host[wave].items() if not words.any()] == []


@pytest.mark.nightly("compiles for AMD targets and interprets the code, every source for each target")
def test_no_instruction_is_unknown(machine: Machine, built: Built) -> None:
    known = {name for _, _, name in machine.meanings(built.target)} | {DUAL}
    unknown = {
        (name, line[3])
        for name, _, text in functions(ELFFile(BytesIO(built.code)))
        for line in machine.decoded(built.target, text)
        if line[3] not in known
    }
    assert unknown == set()


@pytest.mark.nightly("compiles for AMD targets and interprets the code, every source for each target")
@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_answers_are_the_hosts(machine: Machine, built: Built, host: dict[int, dict[str, Words]], order: str) -> None:
    """In reverse stores are late, waves take short turns and approximate instructions deviate."""
    answers = host[built.wave]
    kernels = tuple(parse(built.code, "the corpus").kernels)
    assert set(kernels) | corpus.OPTIMIZED == set(answers)
    out = np.zeros(corpus.WORDS_OUT, np.uint32)
    launched = machine.launch_each(
        built.code, kernels, corpus.words_in(), out, grid=corpus.GRID, block=corpus.BLOCK, order=order, timeout_ms=20000
    )
    wrong = {kernel: message for kernel, (failed, message, _) in launched.items() if failed}
    for kernel in launched.keys() - wrong.keys():
        count = corpus.different(kernel, launched[kernel][2][1], answers[kernel])
        if count:
            wrong[kernel] = f"{count} words are not the host's"
    assert wrong == {}
