"""Errors as answers: problem, reason and remedy; never a traceback, and no 5xx for bad input."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from gossamer.core.errors import (
    AccessError,
    ConflictError,
    GossamerError,
    JobBusyError,
    MissingServiceError,
    NotThereError,
    StorageError,
    UnknownActionError,
    UnknownJobError,
    UsageError,
)
from gossamer.core.record import Record
from gossamer.core.redaction import hide_userinfo
from gossamer.observe.text import printable_lines
from gossamer.queries.outages import explain_outage
from gossamer.runtime.known_secrets import hide_secrets
from gossamer.web.answers import LIMIT_S, encode_answer
from gossamer.web.headers import SAID
from gossamer.web.parts import parts_of

log = logging.getLogger("gossamer.web")

AGAIN_S = 5
"""Seconds until a caller may retry while a service is away."""
LONGEST = 1000


class ErrorReport(Record, frozen=True, kw_only=True):
    """An error."""

    what: str  # what happened
    why: str
    way: str  # what to do about it
    now: dict[str, Any] | None = None  # the current state, if it differs from the expected one


class ErrorAnswer(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The answer with an error."""

    error: ErrorReport


def error_response(
    status: int, what: str, why: str, way: str, *, wait_s: float = 0.0, now: Mapping[str, Any] | None = None
) -> Response:
    """Return an error as a response."""
    report = ErrorReport(
        what=what,
        why=printable_lines(hide_secrets(hide_userinfo(why)), LONGEST),
        way=printable_lines(way, LONGEST),
        now=None if now is None else dict(now),
    )
    headers = {**SAID, "Cache-Control": "no-store"}
    if wait_s:
        headers["Retry-After"] = str(math.ceil(wait_s))
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="gossamer"'
    return Response(encode_answer(ErrorAnswer(error=report)), status, headers, media_type="application/json")


def add_error_handlers(app: FastAPI) -> None:
    """Make an application answer errors in this form."""
    app.add_exception_handler(GossamerError, _answer_ours)
    app.add_exception_handler(TimeoutError, _answer_timeout)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(Exception, _answer_bug)


PLAIN: Mapping[type[GossamerError], tuple[int, str, str]] = {
    UnknownJobError: (404, "There is no such job.", "`GET /api/v1/jobs` lists the jobs."),
    UnknownActionError: (404, "There is no such action.", "`GET /api/v1/actions` lists the actions."),
    NotThereError: (404, "This is not there.", "Look at the list that it was in again."),
    UsageError: (400, "This cannot be done as asked.", "Ask for something else."),
    GossamerError: (500, "The answer failed.", "Please report it: this is a bug in Gossamer."),
}
"""The status, the problem and the remedy, by the nearest class."""


async def _answer_ours(request: Request, error: Exception) -> Response:
    said = str(error)
    if isinstance(error, AccessError):
        return error_response(error.status, "This may not be asked.", said, error.way, wait_s=error.wait_s)
    if isinstance(error, ConflictError | JobBusyError):
        now = error.now if isinstance(error, ConflictError) else None
        return error_response(409, "Nothing was done.", said, "Look again, then decide.", now=now)
    if isinstance(error, StorageError | MissingServiceError):
        outage = explain_outage(parts_of(request).backends, error)
        return error_response(503, outage.answer, said, outage.reason, wait_s=AGAIN_S)
    status, what, way = next(PLAIN[kind] for kind in type(error).__mro__ if kind in PLAIN)
    if status == 500:
        log.error("an answer failed: %s: %s", type(error).__name__, error)
    return error_response(status, what, said, way)


async def _answer_timeout(_request: Request, _error: Exception) -> Response:
    return error_response(
        503,
        "The answer took too long.",
        f"it was not there after {LIMIT_S:g} s, and was stopped",
        "Ask for less: a filter, a shorter range. `gossamer doctor` says whether a service is away.",
        wait_s=AGAIN_S,
    )


async def _answer_invalid(request: Request, error: Exception) -> Response:
    problems: Sequence[Any] = error.errors() if isinstance(error, RequestValidationError) else ()
    said = [f"{_place_of(problem)}: {problem['msg']}" for problem in problems[:5]]
    if any(tuple(problem["loc"]) == ("body",) for problem in problems) and not _is_json(request):
        said = ["the body is read where the header says `Content-Type: application/json`"]
    return error_response(
        422, "The request is invalid.", "; ".join(said), "/api/v1/openapi.json lists all requests."
    )


def _is_json(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def _place_of(problem: Mapping[str, Any]) -> str:
    """Return the place of a problem in the request; in malformed JSON, the character."""
    if problem["type"] == "json_invalid":
        return f"body, character {problem['loc'][-1]}"
    return ".".join(map(str, problem["loc"][1:])) or "body"


async def _answer_http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 404:
        return error_response(
            404, "There is nothing here.", f"{request.scope['path'][:200]} is not an address of the API",
            "/api/v1/openapi.json lists all of them.",
        )  # fmt: skip
    detail = str(error.detail) if isinstance(error, HTTPException) else ""
    response = error_response(
        status, "This cannot be done.", detail, "/api/v1/openapi.json lists all requests."
    )
    response.headers.update(getattr(error, "headers", None) or {})
    return response


async def _answer_bug(_request: Request, error: Exception) -> Response:
    return error_response(
        500, "The answer failed.", type(error).__name__,
        "Please report it: this is a bug in Gossamer. The log of the dashboard has the details.",
    )  # fmt: skip
