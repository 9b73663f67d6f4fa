"""The `dagentd` command: a table of commands that load when they are called, and where errors become words."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from dagentd import __version__
from dagentd.cli import output
from dagentd.cli.examples import with_examples
from dagentd.errors import Unreachable, expected

# Name: where the command is, and its line in `dagentd --help`. The line is here because importing all
# commands to print it would cost more than everything else that --help does.
COMMANDS = {
    "run": ("dagentd.cli.run:run", "Serve repositories in the foreground until Ctrl-C."),
    "start": ("dagentd.cli.life:start", "Start the daemon in the background."),
    "stop": ("dagentd.cli.life:stop", "Stop the daemon; it stays stopped until it is started."),
    "restart": ("dagentd.cli.life:restart", "Stop the daemon and start it again."),
    "status": ("dagentd.cli.life:status", "Show what the daemon does and what is wrong."),
    "doctor": ("dagentd.cli.doctor:doctor", "Say what is wrong, why, and what to do about it."),
    "logs": ("dagentd.cli.life:logs", "Print the end of the daemon's log."),
    "init": ("dagentd.cli.registering:init", "Have the daemon serve a repository from now on."),
    "remove": ("dagentd.cli.registering:remove", "Stop serving a repository, and undo what `init` did."),
    "projects": ("dagentd.cli.registering:projects", "List the registered repositories."),
    "new": ("dagentd.cli.new:new", "Make a session, and its feature if there is none."),
    "sessions": (
        "dagentd.cli.sessions:sessions",
        "List the sessions of a repository, and the conversations that other agents had in it.",
    ),
    "show": ("dagentd.cli.show:show", "Show a session: its state, its checkpoint, its last messages."),
    "add": ("dagentd.cli.changing:add", "Add a message to a session."),
    "clear": ("dagentd.cli.changing:clear", "Let all messages of a session leave its chat; they stay in history."),
    "archive": ("dagentd.cli.changing:archive", "Give a session the status `archived`; it can still be read."),
    "messages": ("dagentd.cli.messages:messages", "Print the last messages in a session's chat."),
    "history": ("dagentd.cli.messages:history", "Print every message a session ever had, also those that left chat."),
    "export": (
        "dagentd.cli.exporting:export",
        "Print a whole session as Markdown: its state, its checkpoint, and all that was ever said.",
    ),
    "brief": ("dagentd.cli.brief:brief", "Print a hand-over of a session: what whoever goes on must know."),
    "search": ("dagentd.cli.search:search", "Find messages by what they say, also those that left chat."),
    "request": ("dagentd.cli.request:request", "Print the request an agent would be sent, with MESSAGE as the user's."),
    "compact": ("dagentd.cli.compacting:compact", "Let a session's messages become items of its checkpoint."),
    "undo": ("dagentd.cli.compacting:undo", "Take the last compaction of a session back."),
    "pin": ("dagentd.cli.compacting:pin", "Keep an item of the checkpoint, or a message in chat."),
    "pause": ("dagentd.cli.pause:pause", "Let dagentd do nothing by itself for a project or a session."),
    "resume": ("dagentd.cli.pause:resume", "End a pause; what is due is done now."),
    "remember": ("dagentd.cli.remembering:remember", "Let every agent that works on this know what you decided."),
    "recall": ("dagentd.cli.remembering:recall", "List what is remembered here."),
    "mcp": ("dagentd.cli.mcp:mcp", "Answer an agent by MCP on standard input and output."),
    "hooks": ("dagentd.cli.hooks:hooks", "Let git tell dagentd about commits, checkouts, merges and rebases."),
    "context": ("dagentd.cli.context:context", "Show what a session knows of its project, its feature and its task."),
    "migrate": ("dagentd.cli.migrate:migrate", "Make sessions of files of older formats, or take that back."),
    "restore": (
        "dagentd.cli.changing:restore",
        "Bring a session back whose worktree is gone, or a transcript that its agent has deleted.",
    ),
    "forget": ("dagentd.cli.changing:forget", "Remove a session and all its traces for good."),
    "scrub": ("dagentd.cli.changing:scrub", "Remove a text, as a pasted key, from all that dagentd keeps."),
    "agents": (
        "dagentd.cli.agents:agents",
        "Say whose conversations are kept, how many, and where, and who is connected.",
    ),
    "connect": ("dagentd.cli.connect:connect", "Have an agent tell dagentd when something was said, and ask it."),
    "disconnect": ("dagentd.cli.connect:disconnect", "Undo what `connect` did."),
    "usage": (
        "dagentd.cli.usage:usage",
        "Show the tokens that Claude Code and Codex took here, from their own transcripts.",
    ),
    "agx": ("dagentd.cli.agx:agx", "Keep sessions of branches, tmux and Claude, in .agx of a project and in ~/.agx."),
    "service": ("dagentd.cli.service:service", "Let systemd or launchd start dagentd and watch it."),
    "call": ("dagentd.cli.calling:call", "Call a method of the daemon and print its result."),
    "events": ("dagentd.cli.calling:events", "Print events as they come, one JSON object a line, until Ctrl-C."),
    "top": ("dagentd.cli.top:top", "Watch projects, sessions, queues and events live."),
    "web": ("dagentd.cli.web:web", "See in a browser what agents did, search it, and undo it."),
    "demo": ("dagentd.cli.demo:demo", "Show on a sample repository what dagentd does."),
    "config": ("dagentd.cli.config:config", "Show the settings in effect and where each comes from."),
    "completion": (
        "dagentd.cli.completion:completion",
        "Print the script that completes commands, options and session ids in a shell.",
    ),
    "man": ("dagentd.cli.manual:man", "Print the manual page, for man to show."),
}

# As `dagentd --help` lists them; what is in no group comes last.
GROUPS = {
    "To begin": ("init", "new", "status", "doctor", "demo"),
    "Read": ("sessions", "show", "messages", "history", "search", "export", "top", "web"),
    "What an agent is told": (
        "add",
        "context",
        "request",
        "brief",
        "remember",
        "recall",
        "compact",
        "undo",
        "pin",
        "clear",
    ),
    "Keep and remove": ("archive", "restore", "migrate", "pause", "resume", "forget", "scrub"),
    "Repositories": ("projects", "hooks", "remove"),
    "The daemon": ("start", "stop", "restart", "run", "logs", "config", "service"),
    "Other programs": ("agents", "connect", "disconnect", "usage", "mcp", "agx", "call", "events"),
}

_UNREACHABLE = 3
_BUG = 70  # EX_SOFTWARE of sysexits.h


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return with_examples(command, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        grouped = {name for names in GROUPS.values() for name in names}
        rest = tuple(name for name in COMMANDS if name not in grouped)
        widest = max(map(len, COMMANDS))
        for title, names in {**GROUPS, "More": rest}.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{widest}}", COMMANDS[name][1]) for name in names if name in COMMANDS])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=COMMANDS, ctx=ctx) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dagentd", message="%(prog)s %(version)s")
def root() -> None:
    """Keep the session files of AI coding agents right."""


with_examples(root, "")


def main() -> NoReturn:
    output.prepare()
    sys.exit(run_command(sys.argv[1:]))


def run_command(args: Sequence[str]) -> int:
    """Run one command, which returns its exit status, or nothing for 0; what it raises becomes a sentence on stderr,
    and the exit status says which kind. Not click's own main(): that answers a closed pipe with status 1, as if we had
    found a problem."""
    try:
        if shell := os.environ.get("_DAGENTD_COMPLETE"):
            from dagentd.cli.completion.completing import complete

            return complete(shell, list(args))
        with root.make_context("dagentd", list(args)) as ctx:
            return int(root.invoke(ctx) or 0)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return 130
    except BrokenPipeError:
        output.abandon()
        return 141
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> int:
    known = expected(error)
    if known is None:
        return _bug(error)
    output.error(str(known), known.hint)
    return _UNREACHABLE if isinstance(known, Unreachable) else 1


def _bug(error: Exception) -> int:
    from dagentd.cli import crash

    output.error(f"this is a bug in dagentd: {crash.summary(error)}", crash.record(error))
    return _BUG
