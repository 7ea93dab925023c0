"""The whole frontier of a job, as a back end implements it.

The twenty-two methods by their users:

========================================================= ======= ========================================
part                                                      methods used by
========================================================= ======= ========================================
:class:`~gossamer.ports.frontier.Frontier`                7       workers
:class:`~gossamer.ports.owned_frontier.OwnedFrontier`     1       supervisors, when a process died
:class:`~gossamer.ports.frontier_admin.FrontierAdmin`     10       committers, commands, views
:class:`~gossamer.ports.steered_frontier.SteeredFrontier`  4       commands that change a running job
========================================================= ======= ========================================

A frontier that the workers of a fleet share also implements
:class:`~gossamer.ports.fleet_frontier.FleetFrontier`, two more methods. A frontier that ends with its process
needs no owners: it is an :class:`AdminFrontier` of twenty-one methods.
"""

from __future__ import annotations

from typing import Protocol

from gossamer.ports.frontier import Frontier
from gossamer.ports.frontier_admin import FrontierAdmin
from gossamer.ports.owned_frontier import OwnedFrontier
from gossamer.ports.steered_frontier import SteeredFrontier


class AdminFrontier(Frontier, FrontierAdmin, SteeredFrontier, Protocol):
    """The requests of a job, to crawl, inspect and steer."""


class JobFrontier(AdminFrontier, OwnedFrontier, Protocol):
    """The requests of a job, in storage that outlives the processes that work on them."""
