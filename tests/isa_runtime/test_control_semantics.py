"""Branches, calls, barriers, waits, scalar loads, and what does nothing, on a target of every generation."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

from tests.isa_runtime.instructions.wave import LANE, LANES, OUT, A, attempt, executed
from tests.isa_runtime.instructions.words import EXEC, GENERATIONS, LITERAL, MINUS_ONE, OLD, ONE, VCC, ZERO, Target, v
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_launches import FAILURE, NOT_SUPPORTED

TARGETS = [Target(names[0]) for names in GENERATIONS.values()]
EVERY = [Target(name) for name in chain.from_iterable(GENERATIONS.values())]
WORDS = np.random.default_rng(6).integers(0, 1 << 32, LANES, np.uint32)
on_every_generation = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
on_every_target = pytest.mark.parametrize("target", EVERY, ids=lambda target: target.name)

NOTHING = ("s_nop", "s_sleep", "s_setprio", "s_icache_inv", "s_sethalt", "s_delay_alu", "s_clause", "s_code_end")
NOTHING += ("s_waitcnt_depctr", "s_set_inst_prefetch_distance", "s_inst_prefetch", "s_sendmsg", "s_incperflevel")
NOTHING += ("s_decperflevel", "s_ttracedata", "s_wait_alu", "s_waitcnt_vscnt", "s_waitcnt_expcnt", "s_wait_storecnt")
NOTHING += ("s_wait_expcnt", "s_wait_samplecnt", "s_wait_bvhcnt", "s_dcache_inv", "s_dcache_wb", "s_gl1_inv", "v_nop")
NOTHING += ("buffer_gl0_inv", "buffer_gl1_inv", "buffer_wbl2", "buffer_inv", "buffer_wbinvl1", "buffer_wbinvl1_vol")
NOTHING += ("s_wakeup", "s_wait_event", "s_sleep_var", "s_singleuse_vdst", "s_prefetch_data", "s_prefetch_inst")
NOTHING += ("s_prefetch_data_pc_rel", "s_prefetch_inst_pc_rel", "s_set_gpr_idx_off")
NOTHING += ("buffer_invl2", "global_wb", "global_inv", "global_wbinv", "ds_nop")
"""Waits for what has no register, caches, priorities, and what only tools and traps see."""


def idle(target: Target, name: str) -> list[int]:
    """The words of an instruction of ``NOTHING``; none where the target has not got it."""
    null = target.null
    forms = {
        "SOPP": lambda: target.sopp(name),
        "SOPK": lambda: target.sopk(name, null, 0),
        "SMEM": lambda: [target.scalar_load(name, 0, 0)[0], 0],
        "MUBUF": lambda: [0xE0000000 | target.opcode("MUBUF", name) << 18, 0x80000000],
        "GLOBAL": lambda: target.memory("GLOBAL", name),
        "DS": lambda: target.lds(name),
        "SOP1": lambda: target.sop1(name, 0, 128),
        "VOP1": lambda: [0x7E000000 | target.opcode("VOP1", name) << 9],
    }
    return next((form() for encoding, form in forms.items() if target.has(encoding, name)), [])


@pytest.mark.executes(*NOTHING)
@on_every_target
def test_what_has_no_effect_changes_nothing(machine: Machine, target: Target) -> None:
    """Of each instruction by itself: registers, masks and SCC are as they were."""
    for name in NOTHING:
        words = [*target.sopc("s_cmp_lg_u32", ONE, ZERO), *target.scalar(VCC, 0x55), *target.settle()]
        words += [*idle(target, name), *target.settle()]
        words += target.sop2("s_cselect_b32", 20, ONE, ZERO)
        for place, source in enumerate((v(A), 20, VCC, EXEC)):
            words += target.vector(OUT + place, source)
        got = executed(machine, target, words, WORDS)
        assert (got == np.stack([WORDS, *(np.full(LANES, n) for n in (1, 0x55, 0xFFFFFFFF))], axis=1)).all(), name


CONDITIONS = {
    "s_cbranch_scc0": ("scc", 0),
    "s_cbranch_scc1": ("scc", 1),
    "s_cbranch_vccz": ("vcc", 0),
    "s_cbranch_vccnz": ("vcc", 1),
    "s_cbranch_execz": ("exec", 0),
    "s_cbranch_execnz": ("exec", 1),
    "s_branch": ("scc", None),
}
"""What is looked at, and what it has to be for the branch to be taken; always without."""


@pytest.mark.executes(*CONDITIONS)
@on_every_generation
def test_branches_are_taken_where_their_condition_holds(machine: Machine, target: Target) -> None:
    """Over a move to s20; then a branch forward, one back, and one over both."""
    for name, (what, wanted) in CONDITIONS.items():
        for state in (0, 1):
            setting = {
                "scc": target.sopc("s_cmp_lg_u32", ZERO + state, ZERO),
                "vcc": target.sop1("s_mov_b64", VCC, ZERO + state),
                "exec": target.sop1("s_mov_b64", EXEC, ZERO + state),
            }[what]
            over = target.sop1("s_mov_b32", 20, ONE)
            words = [*target.sop1("s_mov_b32", 20, ZERO), *setting, *target.settle()]
            words += [*target.sopp(name, len(over)), *over, *target.everybody(), *target.settle()]
            back = [*target.sopp("s_branch", 1), *target.sopp("s_branch", 1), *target.sopp("s_branch", -2)]
            words += [*back, *target.vector(OUT, 20)]
            got = executed(machine, target, words)
            taken = wanted is None or state == wanted
            assert (got[:, 0] == (0 if taken else 1)).all(), (name, state)


@pytest.mark.executes("s_getpc_b64", "s_setpc_b64", "s_swappc_b64", "s_call_b64")
@on_every_generation
def test_calls_return_to_what_is_behind_them(machine: Machine, target: Target) -> None:
    """A function sets s20 to 1 more than it was, and returns to the address in s[22:23]."""
    function = [*target.sop2("s_add_co_u32" if target.generation == 12 else "s_add_u32", 20, 20, ONE)]
    function += target.sop1("s_setpc_b64", 0, 22)
    first = [*target.sop1("s_mov_b32", 20, ZERO), *target.sopp("s_branch", len(function)), *function]
    call = target.sopk("s_call_b64", 22, -(len(function) + 1))
    # The address behind s_getpc_b64, then that of the function, by the distance in bytes.
    get = target.sop1("s_getpc_b64", 24, 0)
    add, with_carry = ("s_sub_co_u32", "s_sub_co_ci_u32") if target.generation == 12 else ("s_sub_u32", "s_subb_u32")
    distance = 4 * (len(function) + len(call) + len(get))
    far = [*get, *target.sop2(add, 24, 24, LITERAL, distance), *target.sop2(with_carry, 25, 25, ZERO)]
    swap = target.sop1("s_swappc_b64", 22, 24)
    got = executed(machine, target, [*first, *call, *far, *swap, *swap, *target.vector(OUT, 20)])
    assert (got[:, 0] == 3).all()


@pytest.mark.executes("s_barrier", "s_barrier_signal", "s_barrier_wait", "s_endpgm")
@on_every_generation
def test_waves_meet_at_a_barrier(machine: Machine, target: Target) -> None:
    """Every lane stores a word in LDS, and loads the one that another wave stored."""
    lds = ("ds_store_b32", "ds_load_b32") if target.generation > 10 else ("ds_write_b32", "ds_read_b32")
    barrier = target.sopp("s_barrier") if target.generation < 12 else [*target.sop1("s_barrier_signal", 0, MINUS_ONE)]
    barrier += target.sopp("s_barrier_wait", 0xFFFF) if target.generation == 12 else []
    words = [*target.shifted(12, 2, 0), *target.lds(lds[0], address=12, data=(A,)), *target.wait(), *barrier]
    words += [*target.vop2(12, LITERAL, 12, 128, names=("v_xor_b32",))]
    words += [*target.lds(lds[1], to=OUT, address=12), *target.wait()]
    for order in ("forward", "reverse"):
        failed, message, got = attempt(machine, target, words, WORDS, lds=256, order=order)
        assert failed == 0, message
        assert np.array_equal(got[:, 0], WORDS[LANE ^ 32])


WAITS = {
    "s_waitcnt": ("vector", "lds", "scalar"),
    "s_wait_idle": ("vector", "lds", "scalar"),
    "s_waitcnt_vmcnt": ("vector",),
    "s_waitcnt_lgkmcnt": ("lds", "scalar"),
    "s_wait_loadcnt": ("vector",),
    "s_wait_dscnt": ("lds",),
    "s_wait_kmcnt": ("scalar",),
    "s_wait_loadcnt_dscnt": ("vector", "lds"),
    "s_wait_storecnt_dscnt": ("lds",),
    "s_wait_storecnt": (),
    "s_wait_expcnt": (),
    "s_waitcnt_vscnt": (),
}
"""What has arrived after each, with a count of 0."""


def in_flight(target: Target, what: str) -> tuple[list[int], int]:
    """A load, and the operand that it fills."""
    new = target.generation > 10
    if what == "vector":
        return target.memory("GLOBAL", "global_load_b32" if new else "global_load_dword", to=14, address=1, base=10), v(
            14
        )
    if what == "lds":
        return target.lds("ds_load_b32" if new else "ds_read_b32", to=14, address=1), v(14)
    return target.scalar_load("s_load_b32" if new else "s_load_dword", 20, 10), 20


@pytest.mark.executes(*WAITS)
@on_every_generation
def test_each_wait_is_for_its_loads(machine: Machine, target: Target) -> None:
    for name, waited in WAITS.items():
        wait = idle(target, name)
        for what in ("vector", "lds", "scalar"):
            load, register = in_flight(target, what)
            failed, message, _ = attempt(
                machine, target, [*load, *wait, *target.vector(OUT, register)], WORDS, lds=4096
            )
            if wait:
                assert failed == (0 if what in waited else FAILURE), (name, what, message)
                assert ("before s_wait" in message) == bool(failed)


SCALAR_LOADS = {
    "s_load_dword s_load_b32": (4, False),
    "s_load_dwordx2 s_load_b64": (8, False),
    "s_load_b96": (12, False),
    "s_load_dwordx4 s_load_b128": (16, False),
    "s_load_dwordx8 s_load_b256": (32, False),
    "s_load_dwordx16 s_load_b512": (64, False),
    "s_load_u8": (1, False),
    "s_load_i8": (1, True),
    "s_load_u16": (2, False),
    "s_load_i16": (2, True),
}
"""Bytes, and whether their sign is extended."""


@pytest.mark.executes(*(name for names in SCALAR_LOADS for name in names.split()))
@on_every_generation
def test_scalar_loads_fill_their_registers_alone(machine: Machine, target: Target) -> None:
    """At a constant offset and the one in a register; four registers at a time are looked at."""
    for names, (size, with_sign) in SCALAR_LOADS.items():
        for name in [name for name in names.split() if target.has("SMEM", name)]:
            for quarter in range(0, max(size, 16), 16):
                words = [word for n in range(32, 49) for word in target.sop1("s_mov_b32", n, 16)]
                words += [*target.scalar(21, 32), *target.scalar_load(name, 32, 10, 0x10, 21), *target.wait()]
                for place in range(4):
                    words += target.vector(OUT + place, 32 + quarter // 4 + place)
                given = [WORDS | 0x8080, WORDS, ~WORDS]  # where the sign is set
                got = executed(machine, target, words, *given)
                memory = np.stack([*given, np.zeros(LANES, np.uint32)], axis=1).tobytes()[48 : 48 + size]
                if size < 4:
                    memory = int.from_bytes(memory, "little", signed=with_sign).to_bytes(4, "little", signed=with_sign)
                expected = np.full(16, OLD, np.uint32)
                expected[: len(memory) // 4] = np.frombuffer(memory, np.uint32)
                assert (got == expected[quarter // 4 : quarter // 4 + 4]).all(), (name, quarter)


MODE = {"all": (0, 32, 0x3F0), "subnormals": (4, 4, 0xF), "IEEE": (9, 1, 1), "rounding": (0, 4, 0)}
"""Parts of the float mode: the first bit, how many, and their value."""


@pytest.mark.executes("s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32")
@on_every_generation
def test_the_float_mode_is_read_and_not_changed(machine: Machine, target: Target) -> None:
    for first, size, value in MODE.values():
        words = [*target.sopk("s_getreg_b32", 20, 1 | first << 6 | size - 1 << 11), *target.vector(OUT, 20)]
        assert (executed(machine, target, words)[:, 0] == value).all()
    scratch = target.sopk("s_setreg_b32", 20, 20 | 31 << 11)  # its address
    assert (executed(machine, target, [*target.scalar(20, 5), *scratch])[:, 0] == OLD).all()
    for words in (
        target.sopk("s_setreg_b32", 20, 1 | 3 << 11),
        [*target.sopk("s_setreg_imm32_b32", 0, 1 | 3 << 11), 0],
    ):
        failed, message, _ = attempt(machine, target, [*target.scalar(20, 5), *words])
        assert (failed, "a change of the float mode" in message) == (NOT_SUPPORTED, True)


@on_every_target
def test_where_a_wave_runs_and_its_clock_are_read(machine: Machine, target: Target) -> None:
    """HW_ID is one for all; SHADER_CYCLES go forward. Another register is said to be unknown."""
    whole = 31 << 11
    words = [*target.sopk("s_getreg_b32", 20, (4 if target.generation == 9 else 23) | whole), *target.vector(OUT, 20)]
    for place in range(2 if target.generation > 9 else 0):
        words += [*target.sopk("s_getreg_b32", 20, 29 | whole), *target.vector(OUT + 1 + place, 20)]
    got = executed(machine, target, words)
    assert (got[:, 0] == 0).all()
    assert (got[:, 1] < got[:, 2]).all() or target.generation == 9
    failed, message, _ = attempt(machine, target, target.sopk("s_getreg_b32", 20, 7 | whole))
    assert (failed, "the hardware register 7" in message) == (NOT_SUPPORTED, True)


@pytest.mark.executes("s_trap")
@on_every_generation
def test_a_trap_is_a_fault_but_a_debuggers(machine: Machine, target: Target) -> None:
    failed, message, _ = attempt(machine, target, target.sopp("s_trap", 2))
    assert (failed, "executed a trap instruction" in message) == (FAILURE, True)
    assert (executed(machine, target, target.sopp("s_trap", 3))[:, 0] == OLD).all()


@pytest.mark.executes("s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64", "s_memtime", "s_memrealtime")
@on_every_generation
def test_clocks_go_forward_and_messages_are_answered(machine: Machine, target: Target) -> None:
    for name in ("s_memtime", "s_memrealtime"):
        if target.has("SMEM", name):
            once = [target.scalar_load(name, 20, 0)[0], 0, *target.wait()]
            later = [target.scalar_load(name, 22, 0)[0], 0, *target.wait()]
            moves = [word for n in range(4) for word in target.vector(OUT + n, 20 + n)]
            got = executed(machine, target, [*once, *later, *moves]).view(np.uint64)
            assert (got[:, 0] < got[:, 1]).all()
    if target.has("SOP1", "s_sendmsg_rtn_b32"):
        words = [*target.scalar(20, 7), *target.sop1("s_sendmsg_rtn_b32", 20, 128), *target.wait()]
        assert (executed(machine, target, [*words, *target.vector(OUT, 20)])[:, 0] == 0).all()
        words = [word for n in (20, 22) for word in (*target.sop1("s_sendmsg_rtn_b64", n, 131), *target.wait())]
        moves = [word for n in range(4) for word in target.vector(OUT + n, 20 + n)]
        got = executed(machine, target, [*words, *moves]).view(np.uint64)
        assert (got[:, 0] < got[:, 1]).all()
