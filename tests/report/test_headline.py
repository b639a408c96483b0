"""The heading of a page, and what it says is to be done next."""

from __future__ import annotations

from conformance.record import KernelResult, Record, every_kernel
from conformance.report.headline import headline
from conformance.report.html.next_steps import next_steps
from conformance.report.runs import labels
from conformance.report.tally import results
from conformance.spec.load import load_specs
from conformance.status import Status
from tests.runs import run_info

SPECS = load_specs()


def run(statuses: dict[str, Status], **about: object) -> Record:
    """A record of kernels with these statuses; others were not run."""
    rows = [
        KernelResult.not_run(SPECS.kernels[name]).model_copy(update={"status": status, "cases": 1, "message": "m"})
        for name, status in statuses.items()
    ]
    return Record.of(run_info(**about), every_kernel(SPECS, rows))


def test_of_several_runs_the_lowest_is_the_headline_and_a_replay_is_not() -> None:
    lowest = run({"uexp_f32": "pass", "uabs_f32": "fail"})
    found = [run({"uexp_f32": "pass", "uneg_f32": "pass"}, wave=32), lowest, run({}, traces="traces")]
    head = headline(found, labels(found), [results(record, SPECS) for record in found], SPECS)
    assert (head.run, head.share, head.of) == (1, "0.1%", "of Candle’s CUDA kernels at parity")
    assert head.notes == (
        "cpu wave64, the lowest of 2 runs",
        "1 of the 2 kernels that were judged",
        f"{len(SPECS.kernels) - 2} not run",
    )


def test_where_nothing_is_to_be_done_nothing_is_proposed() -> None:
    right = run(dict.fromkeys(SPECS.kernels, "pass"))
    assert next_steps(right.kernels, SPECS) is None
    head = headline([right], labels([right]), [right.kernels], SPECS)
    assert (head.share, head.notes) == ("100.0%", ())
