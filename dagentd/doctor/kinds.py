"""The one table of what can be wrong: the cause, what to do, how grave it is, and what mends it safely. `status` judges
by it, the doctor explains by it, and docs/troubleshooting.md shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dagentd.adapters.files import disk
from dagentd.model.problem import Problem

# degraded: the daemon cannot do its work; problem: somebody should do something; note: good to know.
Level = Literal["degraded", "problem", "note"]


@dataclass(frozen=True)
class Kind:
    """An id that ends in "-" begins all ids of its kind: what follows says which file, session or job."""

    id: str
    cause: str
    remedy: str
    level: Level = "problem"
    mend: str = ""  # its name in `mending.MENDS`, if it can be mended without losing anything
    of_file: bool = False  # of the very file that is named: whoever takes that away, as he is told to, is done with it


_STORED = (
    Kind("journal", "A session's journal cannot be appended: a full or read-only disk, or missing permission.",
         "Free space or give permission; nothing is acknowledged meanwhile.", "degraded", "look_again"),
    Kind("documents", "Documents behind the journal cannot be written, as above; the journal has everything.",
         "Free space or give permission; they follow by themselves.", "degraded", "look_again"),
    Kind("session-", "A session cannot be served: something else lies in the place of its files.",
         "Move away what is named.", mend="look_again"),
    Kind("newer", "A newer dagentd wrote records that this one does not know.", "Update dagentd."),
    Kind("journal-altered", "Another program changed or replaced a journal.",
         "Nothing: what was lost was put back.", "note"),
    Kind("journal-lost", "Another program overwrote a journal, and some messages are in no other file.",
         "Copy a newer backup over the journal, if there is one: what that has is taken in. Else delete the list.",
         "degraded", of_file=True),
    Kind("kept-by-copy", "The git folder is on another file system, or on one without hard links.",
         "Nothing: every message is written to both files.", "note"),
    Kind("torn", "A crash or power loss cut a record that had not been acknowledged.",
         "Look at the `.torn` file, then delete it.", "note", of_file=True),
    Kind("unreadable-", "A line of a journal is no record: it was edited by hand, or the disk is failing.",
         "Mend the line or leave it: all other lines count."),
    Kind("corrupt-", "A document was no JSON although it had stayed unchanged.",
         "Nothing: it is made again from the journal. Look at the `.corrupt` file, then delete it.", "note",
         of_file=True),
    Kind("odd-entries", "A chat held entries that are no messages.",
         "Look at the copy that is named, then delete it.", "note", of_file=True),
    Kind("leftover", "A temp file of a process that died cannot be read.", "Look at what is named.", of_file=True),
    Kind("copy-", "A session has two chats, one under its usual name and one that session.json names.",
         "Remove the one that nobody uses.", "note", of_file=True),
    Kind("refused-", "Something that is no regular file is in the place of a document: a link, a pipe, a folder.",
         "Move it away; the document is then made from the journal."),
    Kind("folder", "A folder of sessions is a link out of its worktree, a worktree is a link to none of this"
         " repository, or one may not be read.",
         "Replace the link by a folder, or give permission."),
    Kind("set-aside", "Files that made no sense, or the end of a torn journal, were kept beside their documents.",
         "Look at them, then delete them: nothing uses them.", "note"),
    Kind("unkept", "A journal is not linked into the git folder: it was made without dagentd, or restored.",
         "dagentd run --once PATH", mend="look_again"),
    Kind("temps", "A process died while it wrote documents.", "dagentd run --once PATH, or start the daemon.", "note",
         "look_again"),
    Kind("index", "The index is damaged. It is a cache.", "Remove it while no daemon runs.", mend="discard_index"),
)  # fmt: skip

_WORK = (
    Kind("job-", "Something that the daemon does for a feature failed; it is tried again.",
         "Do what the sentence says, then `dagentd run --once PATH`.", "degraded", "look_again"),
    Kind("context", "A session's context cannot be made or written.", "Do what the sentence says.", "note"),
    Kind("feature-file", "A file of a feature makes no sense, so its sessions are told nothing new of it.",
         "Mend the file; docs/formats.md shows how it looks.", "note"),
    Kind("feature-name", "A file of a feature, or a field in it, has another name than the one it is read by.",
         "Rename it; docs/formats.md shows each file.", "note"),
    Kind("migration-", "A file of an older format is damaged, or of a newer format.",
         "`dagentd migrate --dry-run` says what would be done; the file stays as it is.", "note", of_file=True),
    Kind("budget", "What cannot be compacted is over the budget alone.",
         "Shorten CLAUDE.md, the spec or the role, or raise `budget.limit`."),
    Kind("compaction", "A model failed or was not asked, so `local` compacted; or nothing could leave chat.",
         "`dagentd compact SESSION --again` once the model answers.", "note"),
    Kind("paused", "The file that says what is paused makes no sense, so all of the project counts as paused.",
         "`dagentd resume` sets it aside."),
    Kind("memory", "The file of what is remembered cannot be read, or has lines that make no sense.",
         "Mend or remove these lines; the rest counts."),
    Kind("agx", "A file or a lock of AGX is damaged, newer, or held.", "Do what the sentence says."),
    Kind("agents-transcript", "A transcript of another agent cannot be read or kept.",
         "Do what the sentence says; nothing else is held up by it.", "note", of_file=True),
    Kind("agents-parked", "There is no room for more conversations of other agents.",
         "Free space, raise `agents.max_bytes`, or `dagentd forget` some; the agents' own files stay meanwhile.",
         "degraded"),
    Kind("agents-plugin", "What a connected agent runs of dagentd is gone, or of another version of dagentd.",
         "dagentd connect AGENT", mend="connect_again"),
    Kind("agents-silent", "A connected agent has had conversations since, and none of its hooks came: off, not trusted,"
         " or taken out.",
         "Look at /plugin in Claude Code, at /hooks in Codex; or `dagentd disconnect AGENT`.", "note"),
    Kind("agents-old", "A connected agent is older than the hooks that dagentd has for it.",
         "Update the agent.", "note"),
    Kind("no-key", "`compaction.backend` is `anthropic`, and dagentd was given no key.",
         "Set `compaction.api_key_command`, or DAGENTD_API_KEY for the daemon.", "note"),
    Kind("claude-missing", "`compaction.backend` is `claude-cli`, and there is no claude command.",
         "Install Claude Code, or set another backend.", "note"),
    Kind("tmux-missing", "A project has AGX sessions, and there is no tmux to open them in.", "Install tmux.", "note"),
)  # fmt: skip

_WATCHED = (
    Kind("watch-cookie", "The state folder cannot be written, so dagentd cannot prove that it still hears.",
         "Free space or give permission.", "degraded"),
    Kind("watch-limit", "The system allows no more inotify watches; the other folders are polled.",
         "sudo sysctl fs.inotify.max_user_watches=1048576", "note"),
    Kind("watch-system", "There is no inotify to be had; all folders are polled.",
         "sudo sysctl fs.inotify.max_user_instances=512", "note"),
    Kind("watch-mount", "A project is on a network or virtual file system, which announces no changes.",
         "Nothing: its folders are polled. A local disk is faster.", "note"),
    Kind("watch-refused", "A folder may not be read, so it cannot be watched.", "Give your user permission."),
    Kind("inotify-limit", "The system allows your user few inotify watches, and editors need them too.",
         "sudo sysctl fs.inotify.max_user_watches=1048576", "note"),
)  # fmt: skip

_PROJECTS = (
    Kind("project", "A registered repository is closed to you, or not there: moved, deleted, or its disk is away.",
         "If it was moved, `dagentd init` in its new place; else `dagentd remove PATH`.", "degraded"),
    Kind("read-only", "Another process writes to the project, or it cannot be locked.",
         "End the other process; the daemon takes over by itself.", "degraded"),
    Kind("not-served", "The daemon was started for other projects by `dagentd run PATH`.", "dagentd restart"),
    Kind("registry", "The list of registered repositories cannot be read.",
         "Mend the file, or move it away and `dagentd init` each repository."),
    Kind("settings", "Your settings have mistakes; a daemon that runs keeps those from before.",
         "Correct the file; `dagentd config` shows what is in effect.", "degraded"),
    Kind("project-settings", "A project's `.dagent/config.toml` has mistakes, or sets what only you may set; as above.",
         "Correct the file.", "degraded"),
    Kind("hooks-missing", "Git does not tell dagentd about commits: hooks were never installed, or were replaced.",
         "dagentd hooks install PATH", "note", "install_hooks"),
    Kind("hooks-left-alone", "A hook is no shell script, is tracked, or lies outside of the repository.",
         "Add the line that `dagentd hooks status` names; dagentd works without it too.", "note"),
    Kind("exclude", "Git does not leave session files out, so an agent can commit them.", "dagentd init PATH",
         mend="exclude"),
    Kind("tracked", "Session files are in git, so a checkout or merge changes them.",
         "git rm -r --cached .dagent", "note"),
    Kind("spool", "Many files wait in the spool, and no daemon takes them.", "dagentd start", "note"),
)  # fmt: skip

_MACHINE = (
    Kind("daemon", "The daemon could not do one of its own tasks, as the sentence says.", "dagentd logs", "degraded"),
    Kind("not-running", "No daemon runs, although repositories are registered.", "dagentd start"),
    Kind("not-answering", "A daemon runs and does not answer, or something else listens at its socket.",
         "dagentd logs; dagentd restart"),
    Kind("other-socket", "A daemon runs with another socket: XDG_RUNTIME_DIR or DAGENTD_SOCKET differ from here.",
         "Use the same environment, or `dagentd restart` from here."),
    Kind("two-daemons", "The daemon that answers is not the one that holds the lock: their state folders differ.",
         "Stop one of them; DAGENTD_SOCKET and XDG_STATE_HOME must belong together."),
    Kind("other-version", "The daemon is of another version than this command.", "dagentd restart"),
    Kind("stale-socket", "A daemon was killed and could not remove its socket.",
         "Nothing: the next start removes it.", "note", "remove_socket"),
    Kind("socket-squatted", "Something that is no socket is in its place.", "Move it away, then `dagentd start`."),
    Kind("socket-open", "Other users may enter the folder of the socket, or use the socket itself.",
         "chmod 700 FOLDER; chmod 600 SOCKET", mend="close_to_others"),
    Kind("socket-refused", "The folder of the socket cannot be made, or is not yours to write.",
         "Give your user permission, or set XDG_RUNTIME_DIR to a folder of yours."),
    Kind("state-open", "Other users may read the state folder, which holds parts of conversations.",
         "chmod 700 FOLDER", mend="close_to_others"),
    Kind("state-refused", "The state folder cannot be used: it is no folder, or not yours to write.",
         "Move away what is there, or give your user permission."),
    Kind("service-program", "The service starts a program that is not there: its virtualenv was removed.",
         "dagentd service install", mend="renew_service"),
    Kind("git-missing", "There is no git command: contexts cannot be made where libgit2 cannot read.",
         "Install git, or look at PATH."),
    Kind("git-old", "git is older than dagentd was tried with.", "Update git to 2.25 or later.", "note"),
    Kind("disk-full", "A disk that dagentd writes to is nearly full.", "Free some space; nothing stored is lost."),
    Kind("file-system", "The file system has no hard links, or cannot exchange two files.",
         "Keep repositories on a local Linux file system; a write of another program can be lost here.", "note"),
    Kind("clock", "Files are dated in the future: the clock was wrong then, or is now.",
         "Set the clock; order is kept by the journal, not by time.", "note"),
    Kind("unchecked", "The doctor could not look at something.", "Do what the sentence says."),
)  # fmt: skip

KINDS = {kind.id: kind for kind in (*_STORED, *_WORK, *_WATCHED, *_PROJECTS, *_MACHINE)}
_PREFIXES = sorted((name for name in KINDS if name.endswith("-")), key=len, reverse=True)


def kind_of(problem_id: str) -> Kind:
    """Of any id: a daemon of another version may know others."""
    if problem_id in KINDS:
        return KINDS[problem_id]
    known = next((name for name in _PREFIXES if problem_id.startswith(name)), None)
    return KINDS[known] if known else Kind(problem_id, "This version does not know the cause.", "dagentd restart")


def is_over(problem: Problem) -> bool:
    return kind_of(problem.id).of_file and bool(problem.path) and disk.is_missing(problem.path)


def is_grave(problem_id: str) -> bool:
    """Whether the daemon is degraded by it."""
    return kind_of(problem_id).level == "degraded"
