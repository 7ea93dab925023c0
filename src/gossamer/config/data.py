"""Settings of data besides the store: archive, cache, files, outputs, replays and quality."""

from typing import Annotated, Literal

from pydantic import Field

from gossamer.config.section import BaseSettings, Count, Name, Seconds, Timeout

MediaType = Annotated[str, Field(pattern=r"^[a-z0-9*!#$&^_.+-]+/[a-z0-9*!#$&^_.+-]+$")]
SizeName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")]
PixelSize = Annotated[list[Annotated[int, Field(ge=1, le=10_000)]], Field(min_length=2, max_length=2)]


class QualitySettings(BaseSettings):
    """How the items of a job are examined, and when they are worse than usual."""

    baseline_jobs: Count = Field(
        default=5, description="Number of earlier jobs of the same spider that set the usual values."
    )
    sample: Count = Field(
        default=500,
        description="Number of items that are examined when a crawl ends, sampled evenly, and "
        "twenty times as many if a field is worse; `gossamer report quality --full` examines all.",
    )
    drift: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.3,
        description="Loss that is reported as a finding and an alert: the missing share of the usual values "
        "of a field, or of the usual items of a page; 0 turns both off.",
    )


class ArchiveSettings(BaseSettings):
    """The archive: answers of sites, as WARC files."""

    on: bool | None = Field(
        default=None,
        description="Whether every answer of a site is kept in the archive; by default, if `archive.url` is "
        "set.",
    )
    url: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="The archive of all jobs: `file:///FOLDER`, a path, or `s3://BUCKET/PREFIX`; by default "
        "the folder `archive` in the data directory.",
    )
    what: Literal["pages", "all"] = Field(
        default="pages", description="Which answers are kept: all of them, or all but robots.txt (`pages`)."
    )
    max_file_bytes: Annotated[int, Field(ge=1024)] = Field(
        default=1024**3,
        description="The size from which on a file is finished and another one begun; files with 25,000 "
        "answers are finished.",
    )
    revisits: bool = Field(
        default=True,
        description="Whether a body that the same worker has archived within a day is referred to instead of "
        "being written again.",
    )
    keep_credentials: bool = Field(
        default=False,
        description="Whether cookies and the values of Authorization are written to the archive; else `-` "
        "stands for them.",
    )

    days: Count | None = Field(
        default=None,
        description="Number of days after which a file of the archive is deleted; never if not set.",
    )

    @property
    def is_on(self) -> bool:
        """Whether answers are kept."""
        return self.url is not None if self.on is None else self.on


class ExtractSettings(BaseSettings):
    """When callbacks run."""

    deferred: bool = Field(
        default=False,
        description="Whether the workers of a fleet that fetch pages only archive them, and workers of the "
        "lane `extract` run the callbacks. It needs `archive.url`, a place that all workers reach.",
    )


class FileSettings(BaseSettings):
    """Files and pictures that spiders request."""

    url: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="Where files are kept, those of all jobs: `file:///FOLDER`, a path, or "
        "`s3://BUCKET/PREFIX`; by default the folder `files` in the data directory.",
    )
    max_bytes: Count = Field(
        default=1024**3, description="Maximum size of a file, in bytes; a larger one is not kept."
    )
    timeout: Timeout = Field(
        default=3600.0, description="How long the body of a file may take to arrive, in seconds."
    )
    types: tuple[MediaType, ...] = Field(
        default=(),
        description="The media types that are kept, such as `image/*` and `application/pdf`; by default, "
        "all.",
    )
    thumbnails: dict[SizeName, PixelSize] = Field(
        default={},
        description="Sizes of thumbnails to keep, by name: the maximum pixels in width and height, as "
        "in `{small = [50, 50]}`. It needs the extra `images`.",
    )
    max_pixels: Annotated[int, Field(ge=1, le=178_000_000)] = Field(
        default=50_000_000,
        description="Maximum size of a picture, in pixels, of which thumbnails are made.",
    )
    days: Count | None = Field(
        default=None,
        description="Number of days after which a file that no crawl has seen again is deleted; never if not "
        "set.",
    )


class OutputSettings(BaseSettings):
    """A place to which items are written as they change, besides the store."""

    url: Annotated[str, Field(min_length=1)] = Field(
        description="A file of JSON Lines (`file:///ITEMS.jsonl` or a path), a folder or a bucket that gets "
        "a file for each batch (`file:///FOLDER/`, `s3://BUCKET/PREFIX`), or a table of a database "
        "(`sqlite:///FILE`, `postgresql://USER@HOST/DATABASE`).",
    )
    types: tuple[Name, ...] = Field(
        default=(), description="The types of items that it gets; by default, all."
    )
    batch: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=1000, description="Maximum number of items that are written at once."
    )
    drain: Seconds = Field(
        default=60.0,
        description="How long the end of a crawl waits until all items are written, in seconds; the others "
        "are written the next time.",
    )


class S3Settings(BaseSettings):
    """Where buckets are."""

    endpoint: Annotated[str, Field(pattern=r"^(https?://[^\s@]+)?$")] = Field(
        default="",
        description="The URL of a service that speaks S3, such as `https://minio.example:9000`; by default "
        "that of Amazon for the region.",
    )
    region: str = Field(
        default="", description="The region of the buckets; by default `AWS_REGION` in the environment."
    )
    allow_http: bool = Field(
        default=False, description="Whether an endpoint may be spoken to without TLS (`http://`)."
    )
