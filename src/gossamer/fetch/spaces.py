"""The spaces of the shared state that hold what fetching knows of a job's hosts and sites.

Apart from what uses them: whoever deletes a finished job needs no more than their names.
"""

TRUSTED = "trusted"
COOKIES = "cookies"
SESSIONS = "sessions"
LOG_INS = "log-ins"
