"""The pipeline of a crawl, by its settings."""

from __future__ import annotations

from gossamer.callbacks.pipelines import SpiderPipeline
from gossamer.config.settings import Settings
from gossamer.targets.discovery import CrawlTarget
from gossamer.wiring.scope import url_options_of


def pipeline_of(settings: Settings, target: CrawlTarget) -> SpiderPipeline:
    """Return the pipeline of the target's spiders; none of its steps is open yet."""
    return SpiderPipeline(
        target.choose,
        timeout_s=settings.parse.callback_timeout,
        stages=settings.pipeline.stages,
        options=settings.pipeline.options,
        url_options=url_options_of(settings),
    )
