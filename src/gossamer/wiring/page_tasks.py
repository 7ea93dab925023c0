"""What is done on pages in a browser, and where their pictures go. Imports nothing of the browser itself."""

from __future__ import annotations

from pathlib import Path

from gossamer.callbacks.page_scripts import SpiderGuide
from gossamer.config.settings import Settings
from gossamer.core.jobs import Job
from gossamer.fetch.browser.screenshots import ScreenshotFolder
from gossamer.targets.discovery import CrawlTarget


def guide_of(settings: Settings, target: CrawlTarget) -> SpiderGuide:
    """What knows what the target's spiders want done on their pages."""
    return SpiderGuide(target.choose, timeout_s=settings.parse.callback_timeout)


def screenshots_of(settings: Settings, job: Job) -> ScreenshotFolder | None:
    """Where the job's pictures are kept; ``None``: there are none."""
    browser = settings.browser
    if browser.screenshots == "never":
        return None
    return ScreenshotFolder(
        Path(settings.data) / "screenshots",
        job.id,
        max_files=browser.max_screenshots,
        keeps_all=browser.screenshots == "always",
    )
