"""Settings of the item pipeline, and of pages that are alike."""

from typing import Annotated, Any, Literal

from pydantic import Field

from gossamer.config.section import BaseSettings, Count


class PipelineSettings(BaseSettings):
    """Stages of the pipeline, beside those of the spiders."""

    stages: tuple[str, ...] = Field(
        default=(),
        description="Stages that every item passes after those of its spider that have the same order: "
        "`module:Name`, `drop-duplicates`, or the names of entry points of `gossamer.stages`.",
    )
    options: dict[str, dict[str, Any]] = Field(
        default={},
        description="Options of stages by the name of the stage, as in `[pipeline.options.drop-duplicates]` "
        "or, for a class that a spider names, `[pipeline.options.ClassName]`.",
    )


class DuplicateSettings(BaseSettings):
    """Pages of one host with almost the same text, compared within one run of one process."""

    near: Literal["off", "report", "skip"] = Field(
        default="off",
        description="The treatment of a page with almost the same text, under the same headings, as "
        "another one of its host: nothing; it is flagged `near_duplicate` and counted (`report`); or its "
        "items and links are not taken, either (`skip`).",
    )
    distance: Annotated[int, Field(ge=0, le=3)] = Field(
        default=3, description="Bits of 64 in which the fingerprints of such pages may differ."
    )
    min_words: Count = Field(
        default=50, description="Pages with fewer words are not compared: they say too little."
    )
