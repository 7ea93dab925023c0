"""A real Prometheus for the tests, which scrapes its targets several times a second."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence

import yaml

from kit.server_process import Process, program, said

EVERY = "250ms"


class PrometheusProcess(Process):
    """A Prometheus that scrapes targets of this machine; ``parts`` are their ports by the label ``part``."""

    name = "prometheus"

    def __init__(self, parts: Mapping[str, Sequence[int]]) -> None:
        self._binary = program("prometheus", "prometheus")
        self._parts = parts
        super().__init__()

    def prepare(self) -> None:
        """Write its configuration, as the documentation says."""
        scrapes = [
            {
                "job_name": f"gossamer-{part}",
                "honor_labels": True,
                "static_configs": [
                    {"targets": [f"127.0.0.1:{port}" for port in ports], "labels": {"part": part}}
                ],
            }
            for part, ports in self._parts.items()
        ]
        config = {"global": {"scrape_interval": EVERY, "scrape_timeout": EVERY}, "scrape_configs": scrapes}
        (self.folder / "prometheus.yml").write_text(yaml.safe_dump(config))

    def command(self) -> Sequence[str]:
        return [
            self._binary,
            f"--config.file={self.folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--log.level=warn",
        ]

    def answers(self) -> bool:
        return b" 200 " in said(self.port, b"GET /-/ready HTTP/1.0\r\n\r\n")

    def ask(self, expression: str) -> dict[tuple[str, ...], float]:
        """Return an expression's present values by the values of the remaining labels, in their order."""
        query = urllib.parse.urlencode({"query": expression})
        url = f"http://127.0.0.1:{self.port}/api/v1/query?{query}"
        with urllib.request.urlopen(url, timeout=10) as response:
            rows = json.load(response)["data"]["result"]
        return {
            tuple(value for _, value in sorted(row["metric"].items())): float(row["value"][1]) for row in rows
        }
