"""Parts for adding seeds to a job: its spider and its admission."""

from __future__ import annotations

from pathlib import Path

from gossamer.config.layers import find_project
from gossamer.config.live import with_changes
from gossamer.config.option import SettingOption
from gossamer.core.errors import UsageError
from gossamer.core.jobs import Job
from gossamer.engine.admission import Admission
from gossamer.fetch.guard import is_private_name, place_of
from gossamer.fetch.trusted_hosts import TrustedHosts
from gossamer.policy import urls
from gossamer.spiders.spider import Spider
from gossamer.targets.launch import launch_from
from gossamer.targets.loading import load_target
from gossamer.targets.plan import plan_from, settings_under
from gossamer.targets.planned_spider import target_under
from gossamer.wiring.backends import Backends
from gossamer.wiring.rules import page_lanes_of
from gossamer.wiring.scope import admission_of


async def trust_private_host(backends: Backends, job: Job, host: str) -> None:
    """Let the workers of a job ask a host (a politeness key) that is private by its name."""
    url = f"http://{host}/"
    if is_private_name(urls.hostname_of(url)):
        await TrustedHosts(backends.requests.shared, job).trust_place(place_of(url))


async def open_admission(backends: Backends, job: Job) -> tuple[Spider, Admission]:
    """Return the spider of a job, and the job's admission.

    Raises ``UsageError`` if the spider is not installed here, or the start of the job is not recorded.
    """
    if job.is_fleet:
        plan = plan_from(job.plan)
        settings = settings_under(plan, backends.settings)
        spider = target_under(plan, find_project(Path.cwd())).spider
    else:
        launch = launch_from(await backends.book.read_launch(job))
        if launch is None:
            raise UsageError(
                f"the start of {job.id} is not recorded: name its target with --target instead of --job"
            )
        launch.to_command()  # raises where a secret is missing
        options = [SettingOption(key, value, "the command that began it") for key, value in launch.options]
        loaded = load_target(launch.target, launch.arguments, options, start=Path(launch.folder))
        settings, spider = loaded.settings, loaded.target.spider
    changes = {change.key: change.value for change in await backends.book.read_changes(job)}
    settings = with_changes(settings, changes)
    return spider, admission_of(settings, spider, job.key, page_lanes_of(settings, job), clock=backends.clock)
