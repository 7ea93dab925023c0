"""Traces of visits, where the settings ask for them; without it nothing of OpenTelemetry is imported."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from msgspec.structs import replace

from gossamer.config.running import TraceSettings
from gossamer.core.errors import MissingServiceError
from gossamer.engine.parts import EngineParts
from gossamer.install import install_command


def traced_parts(settings: TraceSettings, parts: EngineParts) -> EngineParts:
    """Return the parts of a worker, with a span for each operation. Raises ``MissingServiceError``."""
    if not settings.enabled:
        return parts
    tracing = load_tracing()
    tracer = tracing.open_tracer()
    visits = tracing.VisitTracer(tracer, parts.job)
    return replace(
        parts,
        fetcher=tracing.TracedFetcher(parts.fetcher, tracer),
        robots=tracing.TracedRobotsGate(parts.robots, tracer),
        extractor=tracing.TracedExtractor(parts.extractor, tracer),
        pipeline=tracing.TracedPipeline(parts.pipeline, tracer),
        committer=tracing.TracedCommitter(parts.committer, visits),
        visits=visits,
    )


def load_tracing() -> ModuleType:
    """Import the tracing of visits. Raises ``MissingServiceError`` without the package."""
    try:
        return import_module("gossamer.observe.tracing")
    except ImportError as error:
        raise MissingServiceError(
            f"traces need another package ({error.name} is missing): {install_command('otel')}"
        ) from error
