"""Settings of gateways: HTTP APIs that fetch pages for us."""

import json
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from gossamer.config.section import (
    ANSWER_PART,
    HTTP_URL,
    VARIABLE,
    BaseSettings,
    HeaderName,
    HeaderText,
    Timeout,
)
from gossamer.config.values import SECRET_PARAMETER, USERINFO
from gossamer.policy.redirects import is_credential
from gossamer.policy.secret_names import is_secret

AnswerPart = Annotated[str, Field(pattern=ANSWER_PART)]
"""The place of a value in the gateway's answer."""


_INSTEAD = "write {key}, and name the environment variable that holds it in key_env"


class GatewaySettings(BaseSettings):
    """A gateway, which the rung `gateway:NAME` calls. Its template gives the defaults."""

    template: Literal["own", "scraperapi", "zyte", "zyte-browser"] = Field(
        default="own",
        description="How the gateway is called and its answers are read; `own`: as these settings say.",
    )
    key_env: str = Field(
        default="",
        pattern=VARIABLE,
        description="The environment variable that holds the key of the gateway; no setting holds the key.",
    )
    url: str | None = Field(
        default=None,
        pattern=HTTP_URL,
        description="The URL of the call, with `{key}`, `{url}` and other placeholders, whose values are "
        "encoded. A query parameter whose placeholder has no value is left out.",
    )
    method: str | None = Field(
        default=None, description="The method of the call; `{method}` is that of the request."
    )
    headers: dict[HeaderName, HeaderText] = Field(
        default={}, description="Headers of the call; placeholders are replaced."
    )
    body: str | None = Field(
        default=None,
        description="The body of the call, as JSON; a text that is one placeholder becomes its value. "
        "If not set, the request's own body is sent.",
    )
    options: dict[str, str | bool | int | float] = Field(
        default={},
        description="Additional parameters for each call, such as `render = true`: values of placeholders, "
        "and otherwise query parameters, or keys of the JSON body.",
    )
    price: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="The price of one call, or of one credit if the gateway counts credits. If not "
        "set, credits are counted.",
    )
    timeout: Timeout = Field(default=90.0, description="Maximum seconds until the gateway answers.")
    status: AnswerPart | None = Field(
        default=None,
        description="Where the answer has the status of the page: `header:NAME`, `json:PATH`, or empty for "
        "the status of the answer itself.",
    )
    content: AnswerPart | None = Field(
        default=None,
        description="Where the answer has the page: `json:PATH`, `base64:PATH`, or empty for the whole body.",
    )
    page_headers: AnswerPart | None = Field(
        default=None,
        description="Where the answer has the headers of the page: `json:PATH`, or empty for its own "
        "headers.",
    )
    cost: AnswerPart | None = Field(
        default=None,
        description="Where the answer says how many credits it cost: `header:NAME`, `json:PATH`, or empty "
        "for a fixed price.",
    )
    errors: dict[str, Literal["key", "credit", "wait", "failed", "page"]] = Field(
        default={},
        description="Meanings of the gateway's own answers, by `STATUS`, `STATUS WORDS` or `5xx`: a "
        "refused `key`, no more `credit`, `wait`, a call that `failed`, or a `page` that it refuses.",
    )

    @field_validator("url")
    @classmethod
    def _check_url_has_no_key(cls, url: str | None) -> str | None:
        if url is not None and (SECRET_PARAMETER.search(url) or USERINFO.search(url)):
            raise ValueError(f"a secret has no place here: {_INSTEAD}")
        return url

    @field_validator("headers", "options")
    @classmethod
    def _check_no_secrets(cls, table: dict[str, Any]) -> dict[str, Any]:
        for name, value in table.items():
            if (is_secret(name) or is_credential(name)) and isinstance(value, str) and "{" not in value:
                raise ValueError(f"the value of {name} is a secret, which has no place here: {_INSTEAD}")
        return table

    @field_validator("body")
    @classmethod
    def _check_body(cls, body: str | None) -> str | None:
        if body is not None:
            try:
                json.loads(body)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"not JSON: {error}") from None
        return body

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if self.template == "own" and not self.url:
            raise ValueError('a gateway needs a url, or a template such as "scraperapi"')
        return self
