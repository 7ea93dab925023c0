"""Why nothing of a job is fetched now, whatever its hosts say. Pure."""

from __future__ import annotations

from typing import NamedTuple

from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import FrontierStats, Job
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.text import format_count
from gossamer.queries.explain.facts import UrlFacts, UrlState


class HoldReason(NamedTuple):
    """A reason why a whole job waits."""

    state: UrlState  # of each request that waits in it
    line: str  # for people: the reason and the remedy


def hold_on(facts: UrlFacts) -> HoldReason | None:
    """Return why the job of a URL waits."""
    return find_hold(facts.job, facts.stats, facts.rules, is_at_work=facts.is_at_work)


def find_hold(job: Job, stats: FrontierStats, rules: FrontierRules, *, is_at_work: bool) -> HoldReason | None:
    """Return why a job waits, or ``None``. ``is_at_work``: a process works on it now."""
    if stats.state is not JobState.RUNNING:
        ways = {
            JobState.PAUSED: "it continues when it is resumed",
            JobState.CANCELLED: f"waiting requests are not fetched; `{_command_for(job)}` makes a new job",
            JobState.FINISHED: "the waiting requests are fetched when it runs again",
        }
        return HoldReason(UrlState.STOPPED, f"The job {job.id} is {stats.state}: {ways[stats.state]}.")
    if stats.budget_spent:
        line = f"The job's budget of {format_count(rules.max_pages or 0, 'page')} is spent"
        more = "" if job.is_fleet else "; `gossamer crawl` with a larger --max-pages continues"
        return HoldReason(UrlState.OVER_BUDGET, f"{line}{more}.")
    return None if is_at_work else _without_workers(job)


def _without_workers(job: Job) -> HoldReason:
    if job.end_reason is FinishReason.MAX_TIME:
        line = "The last run's budget of time was spent (--max-time)"
        return HoldReason(
            UrlState.OVER_BUDGET, f"{line}; the same `gossamer crawl` continues with the waiting requests."
        )
    if job.is_fleet:
        line = f"Waiting requests are not fetched now: no worker of the fleet works on the job {job.id}"
        return HoldReason(UrlState.STOPPED, f"{line}; `gossamer fleet` shows the workers.")
    ended = f" (its last run ended: {job.end_text})" if job.end_reason else ""
    line = f"Waiting requests are not fetched now: no process crawls the job {job.id}{ended}"
    return HoldReason(UrlState.STOPPED, f"{line}; the same `gossamer crawl` continues.")


def _command_for(job: Job) -> str:
    """Return the command that starts a crawl of this kind."""
    return "gossamer submit" if job.is_fleet else "gossamer crawl"
