"""The duties of the supervisor that leads.

Each is run on its own, so that one that fails or takes long delays neither the others nor the jobs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from gossamer.core.errors import OperatorError
from gossamer.fleet.error_throttle import ErrorThrottle
from gossamer.ports.clock import Clock
from gossamer.ports.duty import Duty

FIRST_S = 60.0
"""A new supervisor looks after the jobs first; a standby looks again this often.

A duty with a shorter interval comes earlier.
"""
AGAIN_S = 60.0
"""A duty that failed is run again after this long, or earlier if it is due."""

log = logging.getLogger("gossamer.fleet")


async def repeat_duty(
    duty: Duty, clock: Clock, is_leading: Callable[[], bool], errors: ErrorThrottle
) -> None:
    """Run a duty whenever it is due and this supervisor leads, until cancelled. Raises nothing."""
    wait_s = min(FIRST_S, duty.every_s)
    while True:
        await clock.sleep(wait_s)
        wait_s = min(AGAIN_S, duty.every_s)
        if is_leading() and await _run_duty(duty, clock, errors):
            wait_s = duty.every_s


async def _run_duty(duty: Duty, clock: Clock, errors: ErrorThrottle) -> bool:
    """Whether it went well."""
    what = f"the duty {duty.name}"
    try:
        await duty.run(clock.now())
    except OperatorError as error:
        errors.report_error(what, str(error), clock.now())
        return False
    except Exception as error:
        if not errors.error_of(what):
            log.exception("%s failed", what)
        errors.report_error(what, repr(error), clock.now())
        return False
    errors.clear_error(what)
    return True
