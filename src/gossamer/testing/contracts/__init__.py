"""Contract suites: what every implementation of a port must do, shipped so that users' own can be proven.

A suite is named for its port: ``gossamer.testing.contracts.store`` checks implementations of
``gossamer.ports.store``. Each is a table of named checks and a function that runs them all; a check that
fails raises ``AssertionError`` and says which promise is broken.
"""
