"""Small pictures of pictures, made in a thread. A picture may be broken, or small and unfold to gigabytes.

Only formats are opened that are read by code for pictures alone, and the size that a picture announces is
checked before it is unfolded.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from functools import cache

from PIL import Image, ImageOps

FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
QUALITY = 85


class ThumbnailMaker:
    """Makes thumbnails, one picture at a time: each may take the memory of ``max_pixels``."""

    def __init__(self, max_pixels: int) -> None:
        self._max_pixels = max_pixels
        self._turn = asyncio.Lock()

    async def make_thumbnails(self, path: str, sizes: Mapping[str, tuple[int, int]]) -> dict[str, bytes]:
        """JPEG pictures by the names of their sizes, none larger than the picture itself.

        Raises ``ValueError`` for what is no picture, broken, or larger than allowed.
        """
        async with self._turn:
            return await asyncio.to_thread(_make_all, path, dict(sizes), self._max_pixels)


def _make_all(path: str, sizes: dict[str, tuple[int, int]], max_pixels: int) -> dict[str, bytes]:
    try:
        with Image.open(path, formats=_known_formats()) as opened:
            if opened.width * opened.height > max_pixels:
                raise ValueError(
                    f"a picture of {opened.width} x {opened.height} pixels: see files.max_pixels"
                )
            largest = max(width for width, _ in sizes.values()), max(height for _, height in sizes.values())
            opened.draft("RGB", largest)  # of JPEG, no more is unfolded than is needed
            picture = _as_rgb(ImageOps.exif_transpose(opened))
    except ValueError:
        raise
    except Exception as error:  # the codecs raise whatever the bytes make them
        raise ValueError(f"no picture, or a broken one: {error}") from error
    return {name: _make_one(picture, size) for name, size in sizes.items()}


@cache
def _known_formats() -> tuple[str, ...]:
    """Those that this Pillow reads."""
    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


def _as_rgb(picture: Image.Image) -> Image.Image:
    """Without transparency: what shows through is white."""
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
