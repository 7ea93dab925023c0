"""The spaces of shared state for a job's hosts and sites.

They are separate from their users, since the deletion of a finished job needs only their names.
"""

TRUSTED = "trusted"
COOKIES = "cookies"
SESSIONS = "sessions"
LOG_INS = "log-ins"
