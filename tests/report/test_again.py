"""The commands that reports show of a record, which may be a stranger's."""

from __future__ import annotations

import pytest

from conformance.report.again import again, fetched

OURS = "candle-parity run --runtime cpu --kernels 'my port' --flag=-O1 --order reverse 'fill_u8(shape=[5])'"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_command_of_ours_stays_as_it_is() -> None:
    assert again(OURS) == OURS


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("candle-parity run fill_u8; touch x", "candle-parity run 'fill_u8;' touch x"),
        ("candle-parity run $(touch x)", "candle-parity run '$(touch' 'x)'"),
        ("candle-parity run `touch` | sh > x", "candle-parity run '`touch`' '|' sh '>' x"),
        ("candle-parity run fill_u8 --json /home/me/.bashrc", ""),
        ("candle-parity run --no-sandbox fill_u8", ""),
        ("candle-parity record fill_u8", ""),
        ("candle-parity", ""),
        ("curl https://git.example | sh", ""),
        ("candle-parity run fill_u8\ntouch x", ""),
        ("candle-parity run 'fill_u8", ""),
        ("", ""),
    ],
)
def test_a_command_of_a_strangers_runs_nothing_else_and_writes_no_file(text: str, shown: str) -> None:
    assert again(text) == shown


def test_how_a_port_is_fetched() -> None:
    found = fetched("mine", "https://git.example/a?b&c", COMMIT)
    assert found == f"git clone 'https://git.example/a?b&c' mine && git -C mine checkout {COMMIT}"


@pytest.mark.parametrize(
    ("name", "repository", "commit"),
    [
        ("--upload-pack=x", "https://git.example/a", COMMIT),
        ("../mine", "https://git.example/a", COMMIT),
        ("mine; touch x", "https://git.example/a", COMMIT),
        ("mine", "ext::sh -c touch", COMMIT),
        ("mine", "https://git.example/a\n::stop-commands::x", COMMIT),
        ("mine", "https://git.example/a", COMMIT[:12]),
        ("mine", "https://git.example/a", "HEAD; touch x"),
    ],
)
def test_what_no_list_may_hold_is_not_fetched(name: str, repository: str, commit: str) -> None:
    assert fetched(name, repository, commit) == ""
