"""Examples of every command, as its --help and the manual show them."""

from __future__ import annotations

import click

_SAID = "  # "  # between a command line and what it does

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": (
        "dagentd init  # have this repository served from now on",
        "dagentd status  # what the daemon does and what is wrong",
        "dagentd show pm-feature-login  # one session",
        'eval "$(dagentd completion bash)"  # complete by Tab',
        "dagentd man | man -l -  # the whole manual",
    ),
    "run": (
        "dagentd run ~/shop  # serve one repository until Ctrl-C",
        "dagentd run --once  # do what is due in the repository here, and end",
    ),
    "start": ("dagentd start",),
    "stop": ("dagentd stop",),
    "restart": ("dagentd restart  # after an update, or new settings",),
    "status": (
        "dagentd status",
        "dagentd status --json | jq .health",
    ),
    "doctor": (
        "dagentd doctor",
        "dagentd doctor --fix",
    ),
    "logs": (
        "dagentd logs -n 20",
        "dagentd logs --follow",
    ),
    "init": (
        "dagentd init  # the repository here",
        "dagentd init ~/shop",
    ),
    "remove": (
        "dagentd remove  # the repository here; its session files stay",
        "dagentd remove ~/shop --purge  # and what was kept of sessions",
    ),
    "projects": ("dagentd projects",),
    "new": (
        "dagentd new login  # a session to plan the feature with",
        "dagentd new login --task cookie --role dev --yes",
    ),
    "sessions": (
        "dagentd sessions",
        "dagentd sessions ~/shop --gone  # those whose worktree was removed",
        "dagentd sessions --agent claude-code --since 2026-11-01",
    ),
    "show": (
        "dagentd show pm-feature-login",
        "dagentd show pm-feature-login -C ~/shop --json",
    ),
    "add": (
        "dagentd add pm-feature-login 'Use PostgreSQL 16.'",
        "git diff | dagentd add pm-feature-login --role system",
    ),
    "clear": ("dagentd clear pm-feature-login --yes",),
    "archive": ("dagentd archive pm-feature-login",),
    "messages": (
        "dagentd messages pm-feature-login -n 3",
        "dagentd messages pm-feature-login --internal --json",
    ),
    "history": (
        "dagentd history pm-feature-login -n 1000",
        "dagentd history pm-feature-login --before 0b5c7c2e --json",
    ),
    "export": (
        "dagentd export pm-feature-login -o login.md",
        "dagentd export pm-feature-login --json | jq -r '.messages[].content'",
    ),
    "brief": (
        "dagentd brief  # of the last session here",
        "dagentd brief pm-feature-login --tokens 500",
        'claude "$(dagentd brief login)"  # let another agent go on',
    ),
    "search": (
        "dagentd search postgres migration",
        "dagentd search '\"connection pool\"' --session pm-feature-login -n 5",
    ),
    "request": (
        "dagentd request pm-feature-login 'What is next?'",
        "dagentd request pm-feature-login --sizes  # what each part of it costs",
    ),
    "compact": (
        "dagentd compact pm-feature-login --preview",
        "dagentd compact pm-feature-login",
    ),
    "undo": ("dagentd undo pm-feature-login",),
    "pin": (
        "dagentd pin pm-feature-login d-3f2a9c1b",
        "dagentd pin pm-feature-login 0b5c7c2e --message --off",
    ),
    "pause": (
        "dagentd pause --for 1h  # the repository here, for an hour",
        "dagentd pause pm-feature-login  # one session, until it is resumed",
    ),
    "resume": (
        "dagentd resume",
        "dagentd resume pm-feature-login",
    ),
    "remember": (
        "dagentd remember 'No passwords.'  # for the feature here",
        "dagentd remember --project 'Commit messages are in English.'",
        "dagentd remember --confirm m-3f2a9c1b  # of an agent's note",
        "dagentd remember --withdraw m-3f2a9c1b",
    ),
    "recall": (
        "dagentd recall",
        "dagentd recall --all --json",
    ),
    "mcp": ("dagentd mcp --print-config  # for the settings of an agent",),
    "hooks": ("dagentd hooks status",),
    "hooks install": ("dagentd hooks install ~/shop",),
    "hooks status": ("dagentd hooks status --json",),
    "hooks uninstall": ("dagentd hooks uninstall",),
    "context": (
        "dagentd context pm-feature-login",
        "dagentd context pm-feature-login --rebuild",
    ),
    "migrate": (
        "dagentd migrate --dry-run  # what would be done",
        "dagentd migrate ~/shop --rollback  # take migrations back",
    ),
    "restore": ("dagentd restore pm-feature-login --into payment",),
    "forget": ("dagentd forget pm-feature-login  # shows what it would remove, and asks",),
    "scrub": ("dagentd scrub sk-live-4711-abc  # shows where it is, and asks",),
    "agents": ("dagentd agents ignore codex",),
    "connect": (
        "dagentd connect claude-code",
        "dagentd connect claude-code --project  # only in the checkout here",
    ),
    "disconnect": ("dagentd disconnect claude-code",),
    "agents ignore": ("dagentd agents ignore codex",),
    "agents follow": ("dagentd agents follow codex",),
    "usage": (
        "dagentd usage  # by day, here",
        "dagentd usage --by model --since 2026-11-01 --all",
    ),
    "agx": (
        "dagentd agx new  # a session of the branch that is checked out",
        "dagentd agx list",
    ),
    "agx archive": ("dagentd agx archive feature-login",),
    "agx claude": ("dagentd agx claude 4f1c2a9e-6a0e-4d59-b8f1-3d0c5f7e9a11",),
    "agx cleanup": (
        "dagentd agx cleanup --dry-run",
        "dagentd agx cleanup feature-login --yes",
    ),
    "agx complete": ("dagentd agx complete feature-login",),
    "agx config": (
        "dagentd agx config",
        "dagentd agx config session.branchSessions false --local",
    ),
    "agx index": ("dagentd agx index --rebuild",),
    "agx list": (
        "dagentd agx list --all",
        "dagentd agx list --state active --json",
    ),
    "agx new": (
        "dagentd agx new",
        "dagentd agx new spike --description 'Try another cache' --tag idea",
    ),
    "agx open": ("dagentd agx open feature-login --detached",),
    "agx restore": ("dagentd agx restore feature-login",),
    "agx show": ("dagentd agx show feature-login",),
    "agx switch": ("dagentd agx switch feature-login",),
    "service": ("dagentd service install",),
    "service install": ("dagentd service install --socket  # start with the first command",),
    "service status": ("dagentd service status",),
    "service uninstall": ("dagentd service uninstall",),
    "call": (
        "dagentd call daemon.ping",
        """dagentd call session.get '{"sessionId": "pm-feature-login"}'""",
    ),
    "events": ("dagentd events --type session:updated --session pm-feature-login",),
    "top": ("dagentd top",),
    "web": (
        "dagentd web",
        "dagentd web --port 8400 --no-open  # behind ssh -L 8400:127.0.0.1:8400",
    ),
    "demo": ("dagentd demo",),
    "config": (
        "dagentd config",
        "dagentd config ~/shop --json",
    ),
    "completion": (
        """echo 'eval "$(dagentd completion bash)"' >> ~/.bashrc""",
        "dagentd completion fish > ~/.config/fish/completions/dagentd.fish",
    ),
    "man": (
        "dagentd man | man -l -",
        "dagentd man > ~/.local/share/man/man1/dagentd.1",
    ),
}


def shown(name: str) -> list[str]:
    """The examples of a command as lines, with what is said of each below each other."""
    pairs = [each.partition(_SAID) for each in EXAMPLES.get(name, ())]
    width = max((len(command) for command, said, _ in pairs if said), default=0)
    return [f"{command:{width}}{_SAID}{words}" if said else command for command, said, words in pairs]


def with_examples(command: click.Command, name: str) -> click.Command:
    """The command with its examples below its help; of a group, its commands too."""
    if lines := shown(name):
        title = "Examples:" if len(lines) > 1 else "Example:"
        command.epilog = "\n".join(("\b", title, *(f"  {line}" for line in lines)))
    if isinstance(command, click.Group):
        for each, below in command.commands.items():
            with_examples(below, f"{name} {each}")
    return command
