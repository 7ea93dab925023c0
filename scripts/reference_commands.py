"""The reference page of the commands, from the application itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer
from meanings import Undocumented, code, prose, table

from gossamer.cli.app import build_app

INTRO = """\
# Commands

`gossamer COMMAND --help` shows the same for the installed version. Results go to stdout; progress,
logs and messages go to stderr. The [exit codes](results.md#exit-codes) are the same for all commands."""


def commands_page() -> str:
    """Return the page of all commands with their arguments, options and examples."""
    application: Any = typer.main.get_command(build_app())
    return "\n\n".join([INTRO, *(_command(path, command) for path, command in commands(application))])


def commands(group: Any, path: tuple[str, ...] = ("gossamer",)) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every visible command with its path, groups before their members."""
    for name, command in group.commands.items():
        if not command.hidden:
            yield (*path, name), command
            if hasattr(command, "commands"):
                yield from commands(command, (*path, name))


def examples(command: Any) -> list[str]:
    """Return the lines of a command's examples."""
    _, _, text = (command.epilog or "").partition("Examples:\n")
    return inspect.cleandoc(text).splitlines()


def _command(path: tuple[str, ...], command: Any) -> str:
    name = " ".join(path)
    if not command.help:
        raise Undocumented(f"the command {name} has no docstring")
    is_group = hasattr(command, "commands")
    context = command.context_class(command, info_name=name)
    level = "##" if len(path) == 2 else "###"
    parts = [f"{level} {name}", prose(inspect.cleandoc(command.help))]
    if not is_group:
        parts.append(f"```text\n{_usage(name, command)}\n```")
        rows = [_parameter(name, parameter, context) for parameter in command.get_params(context)]
        parts.append(table(("argument or option", "meaning"), [row for row in rows if row]))
    lines = examples(command)
    if not lines:
        raise Undocumented(f"the command {name} has no examples")
    parts.append("```sh\n" + "\n".join(lines) + "\n```")
    return "\n\n".join(parts)


def _usage(name: str, command: Any) -> str:
    arguments = [_metavar(parameter) for parameter in command.params if _is_argument(parameter)]
    return " ".join([name, "[OPTIONS]", *arguments])


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _metavar(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name.upper()).strip("[]")
    name += "..." if parameter.nargs != 1 else ""
    return name if parameter.required else f"[{name}]"


def _parameter(name: str, parameter: Any, context: Any) -> tuple[str, str] | None:
    if getattr(parameter, "hidden", False) or parameter.name == "help":
        return None
    if not parameter.help:
        raise Undocumented(f"{parameter.name} of {name} has no help")
    if _is_argument(parameter):
        return code(_metavar(parameter)), prose(parameter.help)
    spelling, text = parameter.get_help_record(context)
    return code(spelling), prose(text)
