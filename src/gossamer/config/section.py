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


class BaseSettings(BaseModel):
    """The base of all settings: frozen, strict about names and types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
