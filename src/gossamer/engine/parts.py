"""What a visit needs of the world, and the options of a shift."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import Job
from gossamer.engine.admission import Admission
from gossamer.ports.clock import Clock
from gossamer.ports.committer import Committer
from gossamer.ports.extractor import Extractor
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.frontier import Frontier
from gossamer.ports.pipeline import Pipeline
from gossamer.ports.robots_gate import RobotsGate
from gossamer.ports.sink import Sink
from gossamer.ports.store import Store


@dataclass(frozen=True, slots=True)
class EngineParts:
    """What a worker works with."""

    job: Job
    rules: FrontierRules
    frontier: Frontier
    committer: Committer
    store: Store
    fetcher: Fetcher
    robots: RobotsGate
    extractor: Extractor
    pipeline: Pipeline
    admission: Admission
    sink: Sink
    clock: Clock


@dataclass(frozen=True, slots=True)
class ShiftOptions:
    """How a worker works."""

    worker: str = "w1"
    lane: str = "http"
    concurrency: int = 64
    lease_ttl_s: float = 60.0
    max_redirects: int = 10
    idle_wait_s: float = 1.0  # the longest wait before asking the frontier again
    random: Callable[[], float] = field(default=random.random)
