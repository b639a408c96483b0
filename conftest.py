"""``pytest`` at the root runs the parity matrix, an item per kernel, as well as the tests of the harness.

An installed package registers its plugin by itself, under this very name; then this line registers nothing.
"""

pytest_plugins = ["conformance.pytest_plugin"]
