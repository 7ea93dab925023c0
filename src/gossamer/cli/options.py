"""Options that several commands share, with their help."""

from __future__ import annotations

from typing import Annotated

import typer

from gossamer.cli import completion

Data = Annotated[
    str | None, typer.Option("--data", metavar="DIR", help="The data directory [default: .gossamer].")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "-s",
        "--set",
        metavar="KEY=VALUE",
        help="A setting; can be given several times.",
        autocompletion=completion.complete_settings,
    ),
]
Argument = Annotated[
    list[str] | None, typer.Option("-a", metavar="ARG=VALUE", help="An argument of the spider.")
]
MaxPages = Annotated[int | None, typer.Option(metavar="N", help="Stop after N pages.")]
MaxItems = Annotated[int | None, typer.Option(metavar="N", help="Stop after N items.")]
MaxErrors = Annotated[int | None, typer.Option(metavar="N", help="Stop after N requests were given up.")]
MaxDepth = Annotated[int | None, typer.Option(metavar="N", help="Follow links N hops from a seed.")]
MaxTime = Annotated[str | None, typer.Option(metavar="TIME", help="Stop after 90s, 15m, 2h ...")]
Delay = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Pause between two requests to a host [default: follows the host]."),
]
PerHost = Annotated[int | None, typer.Option(metavar="N", help="At most N requests at once to one host.")]
TargetText = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="A URL, a spider's name, FILE.py[:Class], or FILE.toml.",
        autocompletion=completion.complete_spiders,
    ),
]
NoRobots = Annotated[bool, typer.Option("--no-robots", help="Ignore robots.txt (your own sites).")]
Recrawl = Annotated[
    bool,
    typer.Option("--recrawl", help="Visit the pages that are known and due, and new ones."),
]
PageSpider = Annotated[
    str | None,
    typer.Option(
        metavar="SPIDER",
        help="A spider's name, FILE.py or FILE.toml, instead of the URL's.",
        autocompletion=completion.complete_spiders,
    ),
]
Method = Annotated[
    str | None,
    typer.Option("-X", "--method", metavar="METHOD", help="The method [default: GET, or POST with a body]."),
]
Header = Annotated[
    list[str] | None,
    typer.Option("-H", "--header", metavar="HEADER", help="A header, as in 'Accept: text/plain'."),
]
Body = Annotated[
    str | None,
    typer.Option("-d", "--data", metavar="TEXT", help="The body: JSON or a form; @FILE is that of a file."),
]
Form = Annotated[
    list[str] | None, typer.Option("--form", metavar="NAME=VALUE", help="A field of a form that is sent.")
]
Declarative = Annotated[
    bool, typer.Option("--declarative", help="Write the spider in TOML, without any Python.")
]
MetricsPort = Annotated[
    int | None, typer.Option(metavar="PORT", help="Serve metrics for Prometheus at this port.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
JobKey = Annotated[
    str,
    typer.Option(
        "--key", metavar="KEY", hidden=True, help="32 hexadecimal digits; with the same ones, crawl once."
    ),
]
JobName = Annotated[
    str,
    typer.Argument(
        metavar="JOB", help="A job's id, or its name for the latest.", autocompletion=completion.complete_jobs
    ),
]
LatestJob = Annotated[
    str | None,
    typer.Argument(
        metavar="JOB",
        help="A job's id, or its name for the latest; by default the latest of all.",
        autocompletion=completion.complete_jobs,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="Output format (jsonl, json, csv, xml, parquet or excel); overrides the suffix.",
        autocompletion=completion.complete_words(of=completion.known_formats),
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Exit with 1 if there are dead letters, or links were left out as a trap."),
]
