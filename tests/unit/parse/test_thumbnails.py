"""Thumbnails: how they look, and what they take of memory."""

import asyncio
import io
import subprocess
import sys
import threading

import pytest
from PIL import Image

from gossamer.parse import thumbnails
from gossamer.parse.thumbnails import ThumbnailMaker
from kit.environment import environment

MEASURE = """
import asyncio, re, sys
from pathlib import Path
from gossamer.parse.thumbnails import ThumbnailMaker

def peak_mb():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024

def make(path):
    sizes = {"small": (50, 50), "large": (800, 800)}
    asyncio.run(ThumbnailMaker(50_000_000).make_thumbnails(path, sizes))

make(sys.argv[1])
before = peak_mb()
make(sys.argv[2])
print(peak_mb() - before)
"""


def saved(picture, path, kind="PNG", **said):
    picture.save(path, kind, **said)
    return str(path)


async def small_of(path, **sizes):
    made = await ThumbnailMaker(1_000_000).make_thumbnails(path, sizes or {"small": (20, 20)})
    return {name: Image.open(io.BytesIO(data)) for name, data in made.items()}


@pytest.mark.long
def test_a_large_picture_is_in_memory_once(tmp_path):
    """Twenty million pixels with transparency took 310 megabytes instead of 80."""
    tiny = saved(Image.new("RGBA", (900, 900)), tmp_path / "tiny.png")
    large = saved(Image.new("RGBA", (5000, 4000), (9, 9, 9, 99)), tmp_path / "large.png", compress_level=1)
    command = [sys.executable, "-c", MEASURE, tiny, large]
    found = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert float(found.stdout) < 140


async def test_of_several_workers_in_one_process_one_makes_a_picture(tmp_path, monkeypatch):
    """Each thread of a fleet's worker has a maker, and each had a picture in memory."""
    at_work, most = [], []
    both = threading.Barrier(2)
    reduce = thumbnails._reduce

    def reduce_alone(*given):
        at_work.append(1)
        try:
            both.wait(0.2)
        except threading.BrokenBarrierError:
            most.append(len(at_work))
        try:
            return reduce(*given)
        finally:
            at_work.pop()

    monkeypatch.setattr(thumbnails, "_reduce", reduce_alone)
    path = saved(Image.new("RGB", (30, 30)), tmp_path / "one.png")
    await asyncio.gather(*(small_of(path) for _ in range(2)))
    assert most == [1, 1]


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA", "P", "L", "1", "I;16", "CMYK"])
async def test_a_picture_of_any_mode_is_reduced_in_strips(tmp_path, mode, monkeypatch):
    """What it shows stays where it is: half black, half white."""
    monkeypatch.setattr(thumbnails, "STRIP_PIXELS", 1000)
    halves = Image.new("L", (500, 333), 255)
    halves.paste(0, (0, 0, 250, 333))
    if mode == "LA":
        picture = Image.merge("LA", (halves, Image.new("L", halves.size, 255)))
    elif mode == "I;16":
        picture = halves.convert("I").point(lambda value: value * 1.0).convert("I;16")
    elif mode == "CMYK":
        picture = halves.convert("RGB").convert("CMYK")
    else:
        picture = halves.convert(mode)
    path = saved(picture, tmp_path / "x", "TIFF" if mode == "CMYK" else "PNG")
    (small,) = (await small_of(path, small=(50, 50))).values()
    assert (small.size, small.mode) == ((50, 34), "RGB")
    assert max(small.getpixel((5, 16))) < 30 < 225 < min(small.getpixel((45, 16)))


async def test_what_shows_through_is_white(tmp_path):
    path = saved(Image.new("RGBA", (100, 100), (0, 0, 0, 0)), tmp_path / "clear.png")
    (small,) = (await small_of(path)).values()
    assert min(small.getpixel((10, 10))) > 250


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
async def test_a_picture_that_lies_on_its_side_is_turned(tmp_path, kind):
    picture = Image.new("RGB", (600, 200), "white")
    exif = picture.getexif()
    exif[0x0112] = 6  # it is to be turned to the right
    path = saved(picture, tmp_path / "side", kind, exif=exif)
    found = await small_of(path, wide=(150, 100), high=(10, 60))
    assert {name: one.size for name, one in found.items()} == {"wide": (33, 100), "high": (10, 30)}


async def test_a_picture_is_never_larger_than_it_was(tmp_path):
    path = saved(Image.new("RGB", (30, 10)), tmp_path / "little.png")
    (small,) = (await small_of(path, small=(5000, 5000))).values()
    assert small.size == (30, 10)
