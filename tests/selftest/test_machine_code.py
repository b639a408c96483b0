"""A sample of the mutants of machine code, and one change of each group of operators that is noticed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from conformance.runtimes.cpu.build import build
from conformance.runtimes.isa.build import isa_plan
from conformance.toolchains.amd import HIPCC_KINDS, AmdToolchain, find_toolchain
from conformance.toolchains.host import NoCompiler
from conformance.toolchains.targets import AmdError, targets_of
from tests.isa_runtime.machine import Machine
from tests.selftest.machine_code import KILLED, TARGETS, Campaign, Subject, kernels, known, subject_of, tried
from tests.selftest.machine_operators import OPERATORS, RENAMED, Instruction, mutants_of
from tests.selftest.machine_port import IsaPort, is_instruction

SORT, AFFINE = "asort_asc_f32", "affine_f16"
SAMPLED = {"gfx942": (SORT, "asort_desc_u8"), "gfx1100": (AFFINE,)}
COMPILER = " 19."
"""Of the compiler whose code the sample is known of."""
PLANTED = (
    ("gfx942", SORT, "wait", "s_waitcnt -> s_nop", "report", r"s\d+ read by \w+ before s_waitcnt lgkmcnt\(0\)"),
    (
        "gfx942",
        SORT,
        "wait",
        "s_waitcnt: vmcnt 0x0 -> 0xf",
        "report",
        r"before s_waitcnt vmcnt\(0\)",
    ),
    ("gfx942", SORT, "wait", "s_waitcnt -> s_nop, before s_barrier", "answer", "thread order reverse"),
    ("gfx942", SORT, "wait states", ".*", "report", "comes 1 wait state after the"),
    ("gfx1100", AFFINE, "wait", "s_waitcnt_depctr -> s_nop", "report", "VALU instructions? after the"),
    ("gfx942", SORT, "barrier", ".*", "answer", "must be equal"),
    ("gfx942", SORT, "mask", "s_and_saveexec_b64 -> .*", "answer", "must be equal"),
    ("gfx1100", AFFINE, "mask", "s_and_saveexec_b32: src0 .*", "report", "0 bytes past the end of the|a null pointer"),
    ("gfx942", SORT, "lane", "v_mov_b32: ctrl .*", "answer", "must be equal"),
    ("gfx942", SORT, "lane", "ds_swizzle_b32: .*", "answer", "must be equal"),
    ("gfx942", SORT, "offset", "global_load_dword: .*", "report", "0 bytes past the end of the"),
    ("gfx1100", AFFINE, "width", "global_store_b16 -> .*", "answer", "elements wrong"),
    ("gfx942", SORT, "compare", "s_cmp_ge_i32 -> .*", "answer", "must be equal"),
    ("gfx942", SORT, "branch", "s_cbranch_scc0 -> .*", "answer", "must be equal"),
    ("gfx942", SORT, "arithmetic", "s_add_u32 -> .*", "report", "bytes before the"),
    ("gfx1100", AFFINE, "sign", "v_pk_fma_f16: .*", "answer", "elements wrong"),
    ("gfx1100", AFFINE, "half", "v_pk_fma_f16: .*", "answer", "elements wrong"),
    ("gfx942", SORT, "constant", "s_lshl_b64: .*", "report", "past the end of the"),
    ("gfx1100", AFFINE, "register", "s_lshr_b32: .*", "answer", "elements wrong"),
)
"""Target, kernel and group of a change, the first of which is tried, and what it ends in and what is said of it."""


@pytest.fixture(scope="module")
def toolchain() -> AmdToolchain:
    try:
        return find_toolchain(targets_of(",".join(TARGETS)), HIPCC_KINDS)
    except AmdError as missing:
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {missing}")


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    try:
        found = Machine(build(isa_plan()))
    except NoCompiler as error:
        pytest.skip(str(error))
    yield found
    found.close()


@pytest.fixture(scope="module")
def subjects(toolchain: AmdToolchain, machine: Machine) -> dict[tuple[str, str], Subject]:
    return {row: subject_of(machine, *row) for row in sorted({row[:2] for row in PLANTED})}


@pytest.fixture(scope="module")
def ports(toolchain: AmdToolchain, machine: Machine) -> Iterator[dict[str, IsaPort]]:
    found = {target: IsaPort(target) for target in TARGETS}
    yield found
    for port in found.values():
        port.close()


@pytest.mark.nightly("compiles and judges mutants")
def test_a_sample_of_the_mutants_is_killed(toolchain: AmdToolchain, machine: Machine) -> None:
    campaign = Campaign(machine, 1)
    for target, names in SAMPLED.items():
        campaign.run(target, names, 8)
    kinds = [fate.kind for fate in campaign.fates.values()]
    survived = {mutant.id for mutant, fate in campaign.fates.items() if fate.kind == "survived"}
    assert sum(kind in KILLED for kind in kinds) >= 15
    if COMPILER in toolchain.name:
        assert survived == set()  # all were decided in machine_code.yaml


@pytest.mark.slow("compiles and judges mutants")
@pytest.mark.parametrize("row", PLANTED, ids=lambda row: f"{row[0]} {row[3]}")
def test_a_change_of_each_group_is_noticed(
    subjects: dict[tuple[str, str], Subject], ports: dict[str, IsaPort], row: tuple[str, str, str, str, str, str]
) -> None:
    target, kernel, group, change, kind, said = row
    subject = subjects[target, kernel]
    mutant = next(one for one in subject.mutants() if one.group == group and re.fullmatch(change, one.change))
    fate = tried(ports[target], subject, mutant)
    assert fate.kind == kind, (mutant.id, fate)
    assert re.search(said, fate.why), (mutant.id, fate)


def test_a_change_of_each_group_is_planted() -> None:
    assert {row[2] for row in PLANTED} == {row.group for row in OPERATORS} | {row.group for row in RENAMED}


def test_words_stay_as_long_and_differ(machine: Machine) -> None:
    """global_load_dword v5, v1, s[8:9] offset:4 on gfx942: its offset, its width, and its registers."""
    load = Instruction(0, "GLOBAL", "global_load_dword", (0xDC508004, 0x05080001))
    found = {mutant.change: mutant.words for mutant in mutants_of("gfx942", "k", load)}
    assert found["global_load_dword: offset 0x4 -> 0x8"] == (0xDC508008, 0x05080001)
    assert found["global_load_dword: offset 0x4 -> 0x0"] == (0xDC508000, 0x05080001)
    assert found["global_load_dword: dst 0x5 -> 0x6"] == (0xDC508004, 0x06080001)
    mutants = list(mutants_of("gfx942", "k", load))
    assert all(is_instruction(machine, mutant) for mutant in mutants)
    assert load.words not in found.values()


def test_what_was_decided_is_of_kernels_that_are_mutated() -> None:
    names = [f"{target} {name}" for target in TARGETS for name in kernels()]
    assert len(names) > 80
    assert [row for row in known() if not any(re.fullmatch(row.kernel, name) for name in names)] == []
