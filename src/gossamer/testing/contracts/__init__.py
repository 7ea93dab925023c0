"""Contract suites: what every implementation of a port must do, shipped so that users' own can be proven."""
