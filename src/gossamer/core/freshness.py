"""Records of a spider's known pages: whether and how often they change between crawls."""

from __future__ import annotations

from gossamer.core.record import Fingerprint, Record, Time

UNCHANGED = "unchanged"
"""The flag of an attempt whose page is as it was when it was last checked."""
NOT_DUE = "not_due"
"""Why a link is not followed: its page is known, and its time has not come."""


class RateEstimate(Record, frozen=True, kw_only=True):
    """How often something changes, as a Gamma distribution of changes per second."""

    shape: float
    span_s: float  # the inverse of its scale: about how long it was watched

    @property
    def per_s(self) -> float:
        """The mean: changes per second."""
        return self.shape / self.span_s


class KnownPage(Record, frozen=True, kw_only=True):
    """One known page of a spider.

    A page that was linked and not visited yet has ``checks`` 0 and is due.
    """

    fingerprint: Fingerprint  # of the request, the same in all jobs and stores
    url: str  # in its canonical form
    host: str  # the politeness key
    request: str  # how it is asked for, in the form in which frontiers keep requests
    due_at: Time  # when it is worth another look
    etag: str = ""  # the server's ETag of this version
    modified: str = ""  # when the server says that it was changed
    body_hash: int = 0  # of its bytes, signed 64 bits
    job: str = ""  # the id of the job that checked it last
    checked_at: Time = 0.0  # when the host was last asked and answered; 0: never
    changed_at: Time = 0.0  # when it was last seen to have changed; 0: never
    checks: int = 0  # how often it was checked
    changes: int = 0  # how often it had changed by then
    rate: RateEstimate = RateEstimate(shape=1.0, span_s=1.0)
    interval_s: float = 0.0  # between its last check and the next
    gone_at: Time | None = None  # since when the host reports the page as missing

    @property
    def has_changed(self) -> bool:
        """Whether it was another one at its latest check than before."""
        return self.changed_at > 0 and self.changed_at == self.checked_at


class FreshnessCounts(Record, frozen=True, kw_only=True):
    """The known pages of a spider, counted. Each is one of waiting, new, changed, unchanged and gone."""

    known: int = 0  # all of them
    due: int = 0  # that are worth another look now
    waiting: int = 0  # heard of, and not seen yet
    new: int = 0  # seen once
    changed: int = 0  # that were other ones at their latest check
    unchanged: int = 0  # that were the same at their latest check
    gone: int = 0  # reported as missing by their hosts
    checks: int = 0  # of all pages, first ones included
    changes: int = 0  # that all checks have found
    median_interval_s: float | None = None  # between two checks of one page; None: none was seen


PagePlace = tuple[float, int]
"""Where a page stands among others: when it is due, and its fingerprint."""
FIRST_PLACE: PagePlace = (-1.0, -(2**63))
"""Before all pages."""
