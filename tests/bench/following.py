"""Conversations of other agents: taking in a gigabyte of them, what a line costs, and who waits meanwhile.

`BENCH_MEGABYTES=100` has less to take in."""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from dagentd.agents.followed import Followed
from dagentd.agents.intake import take_everything
from dagentd.model.project import Project, Registered
from dagentd.rpc.client import Client
from dagentd.settings.tables import Agents
from tests.bench.limits import median_ms
from tests.bench.report import Report
from tests.bench.served import git, serving
from tests.bench.served import quiet as settled

MEGABYTES = int(os.environ.get("BENCH_MEGABYTES", "1000"))
_FILES = 1000
_SMALL, _LARGE = 1 << 10, 200 << 20
_ROUNDS = 300  # calls at least whose slowest hundredth counts
_BETWEEN = 0.01  # seconds between two of them, which are spread over all that is taken in


def measure(folder: Path, report: Report) -> None:
    report.heading(f"{MEGABYTES} MB of transcripts in {_FILES} files")
    root = folder / "followed"
    git(folder, "init", "-q", str(root))
    (root / "README.md").write_text("# Sample\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Start")
    home = folder / "home"
    size = _transcripts(home, root)
    before = os.environ["HOME"]
    os.environ["HOME"] = str(home)
    try:
        _first_intake(folder / "followed-state", root, size, report)
        _one_line(folder / "line-state", home, root, report)
        _others_meanwhile(folder, root, report)
    finally:
        os.environ["HOME"] = before
        shutil.rmtree(home)


def _transcripts(home: Path, root: Path) -> int:
    """In the real shape: one part in 25 is conversation, the rest is what the agent notes for itself."""
    projects = home / ".claude/projects/-sample"
    projects.mkdir(parents=True)
    total, each = 0, MEGABYTES * 1_000_000 // _FILES
    for number in range(_FILES):
        path = projects / f"{UUID(int=number + 1)}.jsonl"
        with path.open("wb") as file:
            while file.tell() < each:
                file.write(_turn(root, f"{number}-{file.tell()}"))
            total += file.tell()
    return total


def _turn(root: Path, name: str) -> bytes:
    """A question, an answer with its usage, a call with its result, and some of the plumbing around them."""
    about = {"cwd": str(root), "gitBranch": "main", "version": "2.1.326", "timestamp": "2026-11-18T10:00:00.000Z",
             "isSidechain": False, "parentUuid": None, "sessionId": "s"}  # fmt: skip
    usage = {"input_tokens": 5, "output_tokens": 100, "cache_read_input_tokens": 20_000}
    said = {"role": "assistant", "id": f"msg_{name}", "model": "claude-opus-5", "usage": usage}
    call = {"type": "tool_use", "id": f"toolu_{name}", "name": "Read", "input": {"file_path": "src/main.py"}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{name}", "content": "line of a file\n" * 100}
    lines = [
        {"type": "user", "uuid": f"u-{name}", **about, "message": {"role": "user", "content": f"Look at {name}. " * 8}},
        {"type": "api-request-blob", "blob": "x" * 12_000},
        {"type": "assistant", "uuid": f"a-{name}", **about, "message": {**said, "content": [call]}},
        {"type": "user", "uuid": f"r-{name}", **about, "message": {"role": "user", "content": [result]}},
        {"type": "attachment", **about, "attachment": {"type": "environment", "content": "y" * 3_000}},
        {"type": "assistant", "uuid": f"b-{name}", **about,
         "message": {**said, "content": [{"type": "text", "text": f"It is mended in {name} now. " * 10}]}},
        {"type": "file-history-snapshot", "snapshot": {"files": "z" * 2_000}},
    ]  # fmt: skip
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def _opened(state: Path, root: Path) -> Followed:
    (state / "agents").mkdir(exist_ok=True, parents=True)
    registered = [Registered("bench", Project(root, root / ".git"), "")]
    return Followed(state, Agents, lambda: registered)


def _first_intake(state: Path, root: Path, size: int, report: Report) -> None:
    followed = _opened(state, root)
    start = _cpu()
    for found in followed.following.survey().due:
        while (gained := followed.following.take(found)) is not None and gained.more:
            continue
    kept = _cpu() - start
    report.at_least("first intake without indexing, of processor time", size / 1e6 / kept, 20, "MB/s")
    start = _cpu()
    for session in followed.sessions.all():
        for part in session.parts:
            followed.reading.catch_up(session.agent, session.key, part)
    report.figure("reading and indexing it, of processor time", f"{size / 1e6 / (_cpu() - start):.1f} MB/s")
    followed.close()
    followed, before = _opened(state, root), _read_so_far()
    report.at_most("transcripts that a later start opens", len(followed.following.survey().due), 0, "")
    due = take_everything(followed.following, followed.reading, lambda progress: None)
    report.figure("bytes that a later start reads, of ours", f"{(_read_so_far() - before) / 1e6:.1f} MB")
    report.figure("  and what it could not take in", str(len(due)))
    report.figure("a list of all", f"{median_ms(followed.sessions.listed, 5):.0f} ms")
    report.figure(
        "a search in all", f"{median_ms(lambda: followed.sessions.search('mended', None, None, 20), 5):.0f} ms"
    )
    followed.close()
    shutil.rmtree(state)


def _one_line(state: Path, home: Path, root: Path, report: Report) -> None:
    taken = {size: _line_ms(state / str(size), home, root, size) for size in (_SMALL, _LARGE)}
    report.figure("one line more in 1 KB", f"{taken[_SMALL]:.2f} ms")
    report.ratio("one line more in 200 MB", taken[_LARGE], taken[_SMALL], 2)


def _line_ms(state: Path, home: Path, root: Path, size: int) -> float:
    path = home / ".claude/projects/-line" / f"{UUID(int=size)}.jsonl"
    path.parent.mkdir(exist_ok=True)
    state.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.write(_turn(root, "first").partition(b"\n")[0] + b"\n")
        while file.tell() < size:
            file.write(json.dumps({"type": "api-request-blob", "blob": "x" * 1_000_000}).encode() + b"\n")
    followed = _opened(state, root)
    found = next(each for each in followed.following.survey().due if each.path == path)
    while (gained := followed.following.take(found)) is not None and gained.more:
        continue
    (session,) = followed.sessions.all()
    followed.reading.catch_up(session.agent, session.key, session.parts[0])
    os.sync()  # what was written to have it large is not what a line costs

    def append() -> None:
        with path.open("ab") as file:
            file.write(_turn(root, str(time.monotonic_ns())))
        followed.following.take(found)
        followed.reading.catch_up(session.agent, session.key, session.parts[0])

    taken = median_ms(append, 40)
    followed.close()
    path.unlink()
    return taken


def _others_meanwhile(folder: Path, root: Path, report: Report) -> None:
    """Those who ask the daemon while it takes all of it in, beside the same with nothing to do."""
    quiet, busy = _asked(folder / "quiet-state", root, follow=False), _asked(folder / "busy-state", root, follow=True)
    report.figure("taking all of it in, by the clock", f"{busy.seconds:.1f} s")
    for name in ("ping", "add"):
        report.figure(f"daemon.{name} meanwhile, the median", f"{statistics.median(busy.taken[name]):.2f} ms")
        report.ratio(f"daemon.{name} meanwhile, the slowest hundredth", busy.slowest(name), quiet.slowest(name), 3)
    report.at_most("a line is found meanwhile after", max(busy.taken["line"]), 1000, "ms")
    report.at_most("resident memory more than without", busy.memory - quiet.memory, 60, "MB")


@dataclass
class _Asked:
    """What calls took, spread over all the time that was to be measured."""

    taken: dict[str, list[float]]
    seconds: float
    memory: float

    def slowest(self, name: str) -> float:
        return statistics.quantiles(self.taken[name], n=100)[98]


def _asked(state: Path, root: Path, *, follow: bool) -> _Asked:
    config = state.parent / f"{state.name}-config"
    (config / "dagentd").mkdir(parents=True)
    if not follow:
        (config / "dagentd/config.toml").write_text("[agents]\nfollow = []\n")
    environment = {"XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(config)}
    feature = root / ".dagent"
    (feature / "sessions").mkdir(parents=True, exist_ok=True)
    (feature / "feature.json").write_text('{"id": "f", "name": "f", "status": "in_progress"}')
    with serving(root, **environment) as served:
        client = served.client
        session = client.call("session.getOrCreate", project=str(root), type="feature", agentType="pm", featureId="f")
        if not follow:
            settled(client)
        taken: dict[str, list[float]] = {"ping": [], "add": [], "line": []}
        start = time.perf_counter()
        while len(taken["ping"]) < _ROUNDS or (follow and _takes_in(client)):
            for _ in range(_ROUNDS // 6):
                taken["ping"].append(_ms(client, "daemon.ping"))
                taken["add"].append(
                    _ms(client, "session.addMessage", sessionId=session["id"], role="user", content="Hi.")
                )
                time.sleep(_BETWEEN)
            if follow:
                taken["line"].append(_heard_ms(client, root, f"walrus{len(taken['line'])}"))
        memory = next(line for line in Path(f"/proc/{served.pid}/status").read_text().splitlines() if "VmRSS" in line)
        return _Asked(taken, time.perf_counter() - start, int(memory.split()[1]) / 1000)


def _takes_in(client: Client) -> bool:
    return client.call("daemon.status")["agents"]["progress"] is not None


def _heard_ms(client: Client, root: Path, word: str) -> float:
    """How long a line that an agent writes now cannot be found."""
    path = Path(os.environ["HOME"], ".claude/projects/-sample", f"{UUID(int=_FILES + 1)}.jsonl")
    start = time.perf_counter()
    with path.open("ab") as file:
        file.write(_turn(root, word).partition(b"\n")[0] + b"\n")
    while not client.call("session.search", project=str(root), query=word)["hits"]:
        time.sleep(0.01)
    return (time.perf_counter() - start) * 1000


def _ms(client: Client, method: str, **given: object) -> float:
    start = time.perf_counter()
    client.call(method, **given)
    return (time.perf_counter() - start) * 1000


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _read_so_far() -> int:
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counts["rchar"])
