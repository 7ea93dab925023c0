"""How things are by the alerts, and whether anybody hears of them. Pure."""

from __future__ import annotations

from gossamer.core.record import Record
from gossamer.core.text import format_count
from gossamer.policy.sentences.words import Saying, SentenceFormatter, list_names


class AlertFacts(Record, frozen=True, kw_only=True):
    """Facts for the sentences about all alerts."""

    need_you: int = 0
    others: int = 0  # that take care of themselves, or are good to know
    acknowledged: int = 0
    running: int = 0  # jobs that run
    unchecked: int = 0  # of these, those whose next check is overdue, or that had none yet
    is_place_checked: bool = True  # services, supervisors and proxies are checked
    checked_at: float | None = None  # the latest check of those; None: there was none
    targets: int = 0
    refusing: tuple[str, ...] = ()  # targets that did not take the notification that waits
    waiting: int = 0  # notifications


def describe_alerts(facts: AlertFacts, show: SentenceFormatter) -> Saying:
    """Describe the current problems in one sentence, and whether any target is notified."""
    return Saying(_say_what(facts, show), _say_who(facts))


def _say_what(facts: AlertFacts, show: SentenceFormatter) -> str:
    known = f" {format_count(facts.acknowledged, 'alert')} acknowledged." if facts.acknowledged else ""
    if facts.need_you:
        verb = "needs" if facts.need_you == 1 else "need"
        more = f" {format_count(facts.others, 'more alert')}." if facts.others else ""
        return f"{format_count(facts.need_you, 'problem')} {verb} you.{more}{known}"
    if facts.others:
        need = "which does not need you" if facts.others == 1 else "none of which needs you"
        return f"{format_count(facts.others, 'alert')}, {need}.{known}"
    if not facts.running:
        return f"No alert is on, and no crawl runs.{known}"
    if facts.unchecked or not facts.is_place_checked:
        return f"{_say_unknown(facts, show)}{known}"
    return f"No alert is on.{known}"  # a problem that has just begun is none yet


def _say_unknown(facts: AlertFacts, show: SentenceFormatter) -> str:
    latest = f"; the latest check was at {show.time(facts.checked_at)}" if facts.checked_at else ""
    if not facts.is_place_checked:
        return f"Whether anything is wrong is not known: no check takes place{latest}."
    jobs = format_count(facts.unchecked, "running job")
    they = "it has" if facts.unchecked == 1 else "they have"
    return f"Whether anything is wrong with {jobs} is not known: {they} not been checked lately."


def _say_who(facts: AlertFacts) -> str:
    if not facts.targets:
        return "No target is notified: the settings have no [alerts.targets.NAME]."
    if facts.refusing:
        names, waits = list_names([*facts.refusing]), format_count(facts.waiting, "notification")
        verb = "does" if len(facts.refusing) == 1 else "do"
        return f"{names} {verb} not take notifications: {waits} {'waits' if facts.waiting == 1 else 'wait'}."
    if facts.waiting:
        return f"{format_count(facts.waiting, 'notification')} {'waits' if facts.waiting == 1 else 'wait'}."
    return f"{format_count(facts.targets, 'target')} {'is' if facts.targets == 1 else 'are'} notified."
