"""Makes thumbnails in a thread. A picture may be broken, or small and expand to gigabytes.

Only formats whose decoders read nothing but pictures are opened, and the announced size is checked before
decoding. The picture is in memory once, with at most four bytes for each pixel; thumbnails are made strip by
strip, and are smaller.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from functools import cache
from threading import Lock

from PIL import Image, ImageOps

FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
QUALITY = 85
GAP = 2
"""How much larger than its thumbnails a picture is made by the quick way, so that it does not show."""
STRIP_PIXELS = 1_000_000
_TURN = Lock()


class ThumbnailMaker:
    """Makes thumbnails, one picture at a time in the whole process: each may be of ``max_pixels``."""

    def __init__(self, max_pixels: int) -> None:
        self._max_pixels = max_pixels
        self._turn = asyncio.Lock()  # of its own loop, so that a thread at most waits for others

    async def make_thumbnails(self, path: str, sizes: Mapping[str, tuple[int, int]]) -> dict[str, bytes]:
        """Return JPEG pictures by the names of their sizes, none larger than the picture itself.

        Raises ``ValueError`` for data that is not a picture, is broken, or larger than allowed.
        """
        async with self._turn:
            return await asyncio.to_thread(_make_all, path, dict(sizes), self._max_pixels)


def _make_all(path: str, sizes: dict[str, tuple[int, int]], max_pixels: int) -> dict[str, bytes]:
    largest = max(max(size) for size in sizes.values())  # it may have to be turned
    try:
        with _TURN, Image.open(path, formats=_known_formats()) as opened:
            if opened.width * opened.height > max_pixels:
                raise ValueError(
                    f"a picture of {opened.width} x {opened.height} pixels: see files.max_pixels"
                )
            opened.draft("RGB", (largest, largest))  # of JPEG, no more is unfolded than is needed
            picture = _reduce(opened, largest)
            picture.getexif().update(opened.getexif())
            ImageOps.exif_transpose(picture, in_place=True)
    except ValueError:
        raise
    except Exception as error:  # the codecs raise whatever the bytes make them
        raise ValueError(f"no picture, or a broken one: {error}") from error
    return {name: _make_one(picture, size) for name, size in sizes.items()}


@cache
def _known_formats() -> tuple[str, ...]:
    """Return those that this Pillow reads."""
    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


def _reduce(opened: Image.Image, largest: int) -> Image.Image:
    """Return the picture without transparency, whole times smaller, but still larger than its thumbnails."""
    opened.load()
    width, height = opened.size
    times = max(1, max(width, height) // (largest * GAP))
    reduced = Image.new("RGB", (-(-width // times), -(-height // times)))
    rows = max(1, STRIP_PIXELS // (width * times)) * times
    for top in range(0, height, rows):
        strip = _as_rgb(opened.crop((0, top, width, min(top + rows, height))))
        reduced.paste(strip.reduce(times) if times > 1 else strip, (0, top // times))
    return reduced


def _as_rgb(picture: Image.Image) -> Image.Image:
    """Remove transparency: transparent parts become white."""
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        with_alpha = picture.convert("RGBA")
        ground = Image.new("RGB", with_alpha.size, "white")
        ground.paste(with_alpha, mask=with_alpha.getchannel("A"))
        return ground
    return picture.convert("RGB")


def _make_one(picture: Image.Image, size: tuple[int, int]) -> bytes:
    small = picture.copy()
    small.thumbnail(size, Image.Resampling.LANCZOS)
    out = io.BytesIO()
    small.save(out, "JPEG", quality=QUALITY)
    return out.getvalue()
