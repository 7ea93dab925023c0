"""What sections of the settings are made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Pattern = str
Name = Annotated[str, Field(pattern=r"^[^,&=\s]+$")]
SectionName = Annotated[str, Field(pattern=r"^[a-z0-9](?:_?[a-z0-9-]+)*$")]  # also said in the environment
HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]  # RFC 9110, 5.6.2
HeaderText = Annotated[str, Field(pattern=r"^[\x20-\x7e]*$")]

VARIABLE = r"^(?:[A-Z_][A-Z0-9_]*)?$"
HTTP_URL = r"^https?://"
ANSWER_PART = r"^$|^(?:header|json|base64):\S+$"
COUNTRY = r"^(?:[a-z]{2})?$"
MEANT_BY = {
    VARIABLE: "the name of an environment variable, in capitals; the secret is the variable's value",
    HTTP_URL: "a URL that begins with http:// or https://",
    ANSWER_PART: "header:NAME, json:PATH, base64:PATH or empty",
    COUNTRY: "a code of two small letters, such as de",
}
"""What some patterns ask for, in words."""


class BaseSettings(BaseModel):
    """The base of all settings: frozen, strict about names and types."""

    # What checks a section is built when it is first used by itself: all together are checked by `Settings`.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)
