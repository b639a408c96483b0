"""What ``make quick`` runs, by tests/durations.json."""

from __future__ import annotations

from tests.durations import BUDGETS, FOR_AMD, ROOT, chosen, folder_of, is_quick, may_be_quick, quick, reasons, table

MOST_SECONDS = 60.0
"""Of CPU, so that it takes less than a minute on two cores with what collecting costs."""
LEFT_OUT = {"harm", "speed"}
"""Folders that ``make test`` has nothing of."""


def test_each_folder_has_a_quick_test() -> None:
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")} - LEFT_OUT
    assert set(map(folder_of, quick())) == folders


def test_they_are_cheap() -> None:
    assert sum(table()[row] for row in quick()) < MOST_SECONDS


def test_nothing_is_compiled_for_amd_targets() -> None:
    assert [row for row in quick() if not may_be_quick(row)] == []
    assert not may_be_quick("tests/kernels/test_amd_targets.py")
    assert not may_be_quick("tests/isa_runtime/test_compiled_buffers.py")
    assert FOR_AMD.search('main(["run", "--runtime", "isa"])')


def test_the_table_names_what_there_is() -> None:
    modules = {row.partition("::")[0] for row in table()}
    assert [module for module in sorted(modules) if not (ROOT / module).is_file()] == []


def test_the_modules_that_cost_most_say_why() -> None:
    modules = [row for row in table() if "::" not in row]
    slowest = sorted(modules, key=lambda row: table()[row], reverse=True)[:30]
    assert [row for row in slowest if row not in reasons()] == []
    assert [row for row in reasons() if row not in modules] == []


def test_the_cheapest_are_chosen_within_the_budget_of_their_folder() -> None:
    one, two, three = "tests/spec/test_specs.py", "tests/spec/test_spec_errors.py", "tests/spec/test_hostile_yaml.py"
    most = BUDGETS["spec"]
    found = chosen({one: 0.6 * most, two: 0.1 * most, three: 0.7 * most})
    assert found == {one, two}
    assert chosen({one: BUDGETS["spec"] + 0.1}) == frozenset()
    assert chosen({"tests/spec/test_gone.py": 0.1, f"{one}::test_gone": 0.1}) == frozenset()


def test_a_function_or_its_module_makes_a_test_quick() -> None:
    row = min(quick())
    assert is_quick(row if "::" in row else f"{row}::test_anything[of it]")
    assert not is_quick("tests/spec/test_gone.py::test_gone")
