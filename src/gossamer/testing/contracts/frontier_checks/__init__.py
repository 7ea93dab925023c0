"""The promises of a frontier, one check each: see :mod:`gossamer.testing.contracts.frontier`."""

from gossamer.testing.contracts.frontier_checks import jobs, leases, queue

__all__ = ["jobs", "leases", "queue"]
