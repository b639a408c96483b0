"""A run that was cut off goes on where it was."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from conformance.engine.journal import Journal
from conformance.outcome import Failure, Outcome

WHAT = {"kernels": ["a", "b"], "wave": 64}
BY = {"the kernels": "1234", "the specs": "5678"}
STARTED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PASSED = Outcome(name="a", status="pass", cases=3, launches=3, max_ulp=1.5)
FAILED = Outcome(
    name="b",
    status="fail",
    cases=2,
    failed=1,
    failures=(Failure("b(x=1)", "wrong", 3, "1", "2", float("inf"), "run b"),),
)


def kept(folder, *outcomes) -> Journal:
    journal = Journal(folder, WHAT, BY)
    journal.begin(STARTED)
    for seconds, outcome in enumerate(outcomes, 1):
        journal.add(outcome, float(seconds))
    return journal


def test_what_was_judged_is_taken_over_with_start_and_time(tmp_path):
    kept(tmp_path, PASSED, FAILED)
    again = Journal(tmp_path, WHAT, BY)
    assert again.resume() is None
    assert again.done == {"a": PASSED, "b": FAILED}
    assert (again.started, again.elapsed) == (STARTED, 2.0)


def test_a_resumed_journal_holds_the_old_verdicts_too(tmp_path):
    kept(tmp_path, PASSED)
    again = Journal(tmp_path, WHAT, BY)
    again.resume()
    again.begin(datetime.now(UTC))
    again.add(FAILED, 9.0)
    third = Journal(tmp_path, WHAT, BY)
    assert third.resume() is None
    assert set(third.done) == {"a", "b"}
    assert third.started == STARTED


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85", "\x1c", "\r", "\ud800"])
def test_a_text_with_another_end_of_line_costs_nothing(tmp_path, sign):
    outcome = FAILED.model_copy(update={"message": f"one{sign}two"})
    kept(tmp_path, PASSED, outcome)
    again = Journal(tmp_path, WHAT, BY)
    assert again.resume() is None
    assert again.done == {"a": PASSED, "b": outcome}


def test_a_line_that_was_cut_short_is_one_verdict_less(tmp_path):
    journal = kept(tmp_path, PASSED, FAILED)
    text = journal.path.read_bytes()
    journal.path.write_bytes(text[:-20])
    again = Journal(tmp_path, WHAT, BY)
    assert again.resume() is None
    assert set(again.done) == {"a"}


def test_other_kernels_or_specs_than_then_are_named(tmp_path):
    kept(tmp_path, PASSED)
    again = Journal(tmp_path, WHAT, {**BY, "the kernels": "9999"})
    assert again.resume() == "these have changed since then: the kernels"
    assert again.done == {}


def test_other_options_have_a_journal_of_their_own(tmp_path):
    kept(tmp_path, PASSED)
    assert "no run with these options" in Journal(tmp_path, {**WHAT, "wave": 32}, BY).resume()


def test_a_damaged_journal_is_named(tmp_path):
    journal = kept(tmp_path, PASSED)
    for content in (b"\xff\xfe", b"", b"[" * 100_000, b'{"judged_by": 3}\n', b'{"kind": "Outcome"}\n'):
        journal.path.write_bytes(content)
        again = Journal(tmp_path, WHAT, BY)
        assert "journal" in (again.resume() or "") or "changed" in (again.resume() or "")
        assert again.done == {}


def test_a_finished_run_leaves_none_and_one_without_verdict_is_tried_again(tmp_path):
    journal = kept(tmp_path, Outcome.infrastructure("a", "the disk was full"))
    again = Journal(tmp_path, WHAT, BY)
    assert again.resume() is None
    assert again.done == {}
    journal.close(finished=True)
    assert list(tmp_path.iterdir()) == []


def test_a_journal_that_cannot_be_written_costs_a_sentence_and_no_verdict(tmp_path):
    folder = tmp_path / "a file"
    folder.write_text("")
    journal = kept(folder, PASSED)
    assert "no journal can be kept" in journal.warning
    journal.close(finished=True)
