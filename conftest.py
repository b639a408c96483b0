"""``pytest`` at the root runs the parity matrix, an item per kernel, as well as the tests of the harness."""

pytest_plugins = ["conformance.pytest_plugin"]
