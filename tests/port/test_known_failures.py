"""``[[known_failures]]``: which failures rows explain, and which rows nothing bears out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from conformance.outcome import Evidence, Observation, Outcome
from conformance.port.config import Excluded, KnownFailure
from conformance.port.declared.known import Settled, check_excluded, check_rows, excluded, matches, settle
from conformance.port.sources import SourceError
from conformance.status import Status

KERNELS = ("a_f16", "a_f32", "b_f32")
CASES = ("a_f16(shape=[3],values=huge)", "a_f16(shape=[3],values=unit)")


def outcome(name: str, status: Status, failed: Sequence[str] = ()) -> Outcome:
    cases = tuple(case.partition("(")[2].removesuffix(")") for case in failed)
    observations = tuple(Observation(Evidence(), (case,)) for case in cases)
    return Outcome(name=name, status=status, cases=5, failed=len(failed), observations=observations)


def settled(rows: Sequence[KnownFailure], outcomes: Sequence[Outcome], **other: object) -> Settled:
    by_name = {one.name: one for one in outcomes}
    asked = {"partly": (), "runtime": "cpu", "arch": "gfx90a:sramecc+:xnack-", **other}
    return settle(rows, by_name, KERNELS, **asked)  # type: ignore[arg-type]


PASSING = [outcome("a_f32", "pass"), outcome("b_f32", "pass")]


def test_only_stars_have_a_meaning() -> None:
    assert matches("a_f16(shape=[3],*)", CASES[0])
    assert matches("*values=huge*", CASES[0])
    assert not matches("a_f16(shape=?3],*)", CASES[0])
    assert not matches("a_f1", "a_f16")
    assert matches("a*", "a")
    assert matches("*f*6", "a_f16")
    assert not matches("ab*ba", "aba")
    assert not matches("*b*a*", "a_b")
    assert not matches("*" + "a*" * 500 + "b", "a" * 900)


def test_a_kernel_is_known_where_every_failure_is() -> None:
    fails = [outcome("a_f16", "fail", CASES), *PASSING]
    huge = KnownFailure("a_*", "overflows", case="*huge*", link="https://e.org/1")
    assert settled([KnownFailure("a_*", "overflows")], fails) == Settled({"a_f16": "overflows"})
    assert settled([huge], fails) == Settled({})
    both = settled([huge, KnownFailure("a_f16", "rounds", case="*unit*")], fails)
    assert both == Settled({"a_f16": "overflows (https://e.org/1); rounds"})


@pytest.mark.parametrize("status", ["signature", "missing", "compile_error", "crash", "timeout"])
def test_a_failure_that_is_of_no_case(status: Status) -> None:
    lost = [outcome("a_f16", status), *PASSING]
    assert settled([KnownFailure("a_f16", "R")], lost).reasons == {"a_f16": "R"}
    assert settled([KnownFailure("a_f16", "R", case="*")], lost).reasons == {}


@pytest.mark.parametrize(
    ("row", "counts"),
    [
        (KnownFailure("a_f16", "R", runtime="cpu"), True),
        (KnownFailure("a_f16", "R", runtime="rocm"), False),
        (KnownFailure("a_f16", "R", arch="gfx90a"), True),
        (KnownFailure("a_f16", "R", arch="gfx9*"), True),
        (KnownFailure("a_f16", "R", arch="gfx90a:*:xnack-"), True),
        (KnownFailure("a_f16", "R", arch="gfx11*"), False),
    ],
)
def test_a_row_counts_where_it_applies(row: KnownFailure, counts: bool) -> None:
    """One of another runtime or device explains nothing here, and nothing here speaks against it."""
    fails = settled([row], [outcome("a_f16", "fail", CASES), *PASSING])
    assert (bool(fails.reasons), fails.problems) == (counts, ())
    passes = settled([row], [outcome("a_f16", "pass"), *PASSING])
    assert bool(passes.problems) == counts


def test_a_row_that_nothing_bears_out_is_a_problem() -> None:
    passing = [outcome("a_f16", "pass"), *PASSING]
    assert settled([KnownFailure("a_f16", "R")], passing).problems == (
        "known_failures, row 1 ('a_f16'): a_f16 passes; remove it",
    )
    assert settled([KnownFailure("a_*", "R")], passing).problems == (
        "known_failures, row 1 ('a_*'): a_f16 and its like, 2 in all, pass; remove it",
    )
    other = settled([KnownFailure("a_*", "R", case="*tiny*")], [outcome("a_f16", "fail", CASES), *PASSING])
    assert other.problems == ("known_failures, row 1 ('a_*'): a_f16 fails, but in no case like '*tiny*'; remove it",)


def test_what_was_not_judged_speaks_against_no_row() -> None:
    rows = [KnownFailure("a_*", "R")]
    assert settled(rows, PASSING).problems == ()
    assert settled(rows, [outcome("a_f16", "not_run"), *PASSING]).problems == ()
    assert settled(rows, [outcome("a_f16", "pass"), *PASSING], partly=("a_f16",)).problems == ()


def test_a_kernel_that_was_given_up_speaks_against_no_row() -> None:
    given_up = Outcome(
        name="a_f16",
        status="timeout",
        cases=2,
        failed=1,
        planned=5,
        observations=(Observation(Evidence(), ("values=unit",)),),
    )
    rows = [KnownFailure("a_f16", "R", case="*huge*")]
    assert settled(rows, [given_up, *PASSING]).problems == ()
    assert settled(rows, [outcome("a_f16", "compile_error"), *PASSING]).problems == ()
    left_out = given_up.model_copy(update={"planned": 0, "left_out": 3})  # all that could be launched were
    assert len(settled(rows, [left_out, *PASSING]).problems) == 1


def test_recorded_launches_speak_against_no_row() -> None:
    """A row may be about generated cases that fail, which a replay does not run."""
    passing = [outcome("a_f16", "pass"), *PASSING]
    assert settled([KnownFailure("a_f16", "R", case="*huge*")], passing, recorded=True).problems == ()
    assert settled([KnownFailure("a_f16", "R")], passing, recorded=True).problems == ()


def test_a_row_for_no_kernel_of_the_specs() -> None:
    check_rows([KnownFailure("a_*", "R")], KERNELS, "F")
    with pytest.raises(SourceError, match=r"F: known_failures, row 2: 'c_\*' matches none of the 3 kernels"):
        check_rows([KnownFailure("a_*", "R"), KnownFailure("c_*", "R")], KERNELS, "F")


def test_what_a_port_does_not_have_is_missing_for_a_reason() -> None:
    """A row that is about a kernel which is there is a problem: it would hide what becomes of it."""
    rows = [Excluded("b_*", "no b yet"), Excluded("a_*", "no a yet")]
    outcomes = {one.name: one for one in (outcome("a_f16", "fail", CASES), outcome("b_f32", "missing"))}
    problem = "exclude, row 2 ('a_*'): the port has a_f16; remove it, or narrow it"
    assert excluded(rows, outcomes) == Settled({"b_f32": "no b yet"}, (problem,))
    assert excluded(rows, {"a_f16": outcome("a_f16", "not_run")}) == Settled({})


def test_a_row_about_no_kernel_is_refused() -> None:
    check_excluded([Excluded("moe_*", "R")], KERNELS, "F", ["moe_gemm"])
    with pytest.raises(SourceError, match=r"F: exclude, row 1: 'c_\*' matches none of the 3 kernels and 1 launchers"):
        check_excluded([Excluded("c_*", "R")], KERNELS, "F", ["moe_gemm"])
