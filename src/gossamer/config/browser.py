"""Settings of the browser as a way to fetch."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gossamer.config.section import BaseSettings, Count, Seconds, Timeout

Resource = Literal["image", "media", "font", "stylesheet", "script", "xhr", "fetch"]
Viewport = Annotated[str, Field(pattern=r"^[1-9][0-9]{1,4}x[1-9][0-9]{1,4}$")]


class BrowserSettings(BaseSettings):
    """The way to fetch `browser`: the browser, its tabs, and the limits of a page."""

    kind: Literal["chromium", "firefox"] = Field(
        default="chromium", description="Which browser: `chromium` or `firefox`."
    )
    executable: str | None = Field(
        default=None,
        description="The browser's program; if not set, the Chromium that Playwright has downloaded, or the "
        "browser on the PATH.",
    )
    connect: str = Field(
        default="",
        description="The DevTools URL of a Chromium that runs on this machine (`http://127.0.0.1:9222`): its "
        "tabs are used, and no browser is started.",
    )
    stealth: bool = Field(
        default=False,
        description="Whether the browser is driven by patchright (the extra `stealth`), which leaves fewer "
        "traces of being driven, under the browser's own User-Agent.",
    )
    profile: Literal["honest", "own"] = Field(
        default="honest",
        description="`honest` sends `user_agent`; `own` sends the browser's own User-Agent.",
    )
    sandbox: bool | None = Field(
        default=None,
        description="Whether the browser keeps pages in its sandbox; if not set, it does, except where root "
        "runs it, for whom there is none.",
    )
    pages: Count = Field(
        default=4, description="Maximum number of pages at once in one process; others wait for a tab."
    )
    timeout: Timeout = Field(
        default=30.0, description="Maximum seconds for one page, from the time it has a tab."
    )
    max_pages: Count = Field(
        default=100, description="Maximum number of pages of one browser before another takes its place."
    )
    max_age: Seconds = Field(
        default=1800.0, description="Maximum age of one browser in seconds before another takes its place."
    )
    max_memory_mb: Count = Field(
        default=2048,
        description="Maximum memory of a page's process; a page that takes more is ended and tried again.",
    )
    block: tuple[Resource, ...] = Field(
        default=("image", "media", "font"),
        description="Kinds of resources that pages do not get: `image`, `media`, `font`, `stylesheet`, "
        "`script`, `xhr`, `fetch`.",
    )
    flatten: bool = Field(
        default=True,
        description="Whether open shadow roots, and frames of the page's own origin, are written into the "
        "page's tree, so that selectors and links find their contents.",
    )
    locale: str = Field(
        default="en-US", description="The language of the browser, first among those it accepts."
    )
    timezone: str | None = Field(
        default=None,
        description="The time zone of the browser, such as `Europe/Berlin`; if not set, this machine's.",
    )
    human: bool = Field(
        default=False,
        description="Whether the actions on pages are done as a person would: the pointer moves in curves, "
        "keys have a rhythm, a wheel scrolls.",
    )
    consent: Literal["leave", "reject", "accept"] = Field(
        default="leave",
        description="The button that is clicked on banners that ask for consent: `reject`, `accept`, or "
        "none (`leave`).",
    )
    screenshots: Literal["never", "failure", "always"] = Field(
        default="failure",
        description="Screenshots to keep in the folder `screenshots` of the data directory: of pages "
        "that failed in the browser or came with an error status, of all pages, or of none.",
    )
    screenshot_html: bool = Field(
        default=False, description="Whether the HTML of a page is kept beside its picture, as far as it came."
    )
    max_screenshots: Count = Field(default=1000, description="Maximum number of pictures of one job.")
    max_capture_bytes: Count = Field(
        default=16 * 1024 * 1024,
        description="Maximum size of all responses together that `capture` keeps of one page, in bytes.",
    )
    viewport: Viewport = Field(
        default="1366x768", description="Width and height of a page's window in pixels."
    )

    device: str = Field(
        default="",
        description="The device that pages see, by Playwright's name (`iPhone 15`): its window, touch and, "
        'with `profile = "own"`, its User-Agent.',
    )
    geolocation: Annotated[str, Field(pattern=r"^(-?\d{1,3}(\.\d+)?,-?\d{1,3}(\.\d+)?)?$")] = Field(
        default="", description="The location that pages see: latitude and longitude, as `52.5,13.4`."
    )
    storage_state: str = Field(
        default="",
        description="A file of cookies and `localStorage`, as Playwright saves it (`storage_state`): the "
        "start of a session at a site for which it has no cookies.",
    )

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if self.connect and self.kind != "chromium":
            raise ValueError(f"connect is for Chromium, and kind is {self.kind!r}: set one of the two")
        if self.connect and self.executable:
            raise ValueError(
                "connect uses a browser that runs, and executable starts one: set one of the two"
            )
        if self.stealth and self.kind != "chromium":
            raise ValueError(f"stealth drives Chromium alone, and kind is {self.kind!r}: set one of the two")
        return self
