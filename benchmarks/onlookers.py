"""Observers of a crawling fleet: a number of open dashboards, and a Prometheus.

Each dashboard holds a stream of the data for a job's views and reads all of it, as a browser does; it watches
the job that the given file names (``job``). The Prometheus scrapes each endpoint every 5 s.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import urllib.request

SCRAPE_S = 5.0
TOPICS = "overview,job:{job},hosts:{job},fleet"


async def look_on(port: int, job: str) -> None:
    """Read a stream to its end, and open it again."""
    while True:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            path = f"/api/v1/stream?topics={TOPICS.format(job=job)}"
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            while await reader.read(1 << 16):
                pass
        await asyncio.sleep(0.5)


async def scrape(url: str) -> None:
    """Scrape metrics repeatedly."""
    while True:
        with contextlib.suppress(OSError):
            await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=5).read())
        await asyncio.sleep(SCRAPE_S)


async def main() -> None:
    port, job, dashboards, *metrics = sys.argv[1:]
    lookers = [look_on(int(port), job) for _ in range(int(dashboards))]
    await asyncio.gather(*lookers, *(scrape(url) for url in metrics))


if __name__ == "__main__":
    asyncio.run(main())
