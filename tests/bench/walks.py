"""How many functions and files of ours one walk touches: what a reader meets who follows it.
`python -m tests.bench.walks` prints the figures, with `--told` also the names."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import dagentd
from dagentd.model import ids

_OURS = str(Path(dagentd.__file__).parent)
_PATIENCE = 60.0


class Walk(NamedTuple):
    functions: int
    files: int
    modules: int  # of ours that the process has loaded


class Tracer:
    """Every function of ours that is called in the threads which it was given, while it records. `parts` are the
    threads that belong to a walk, by their names, each with the function whose return ends its part; None: all do."""

    def __init__(self) -> None:
        self.met: set[CodeType] = set()
        self.recording = False
        self.parts: dict[str, str] | None = None

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        name = threading.current_thread().name
        if not self.recording or (self.parts is not None and name not in self.parts):
            return
        if event == "call":
            self.met.add(frame.f_code)
        elif event == "return" and self.parts is not None and self.parts[name] == frame.f_code.co_qualname:
            del self.parts[name]

    def install(self) -> None:
        """For threads that begin from now on: the daemon's own does nothing but its heartbeat."""
        threading.setprofile(self)

    def rest(self, parts: dict[str, str] | None = None) -> None:
        """Wait until nothing of ours was called for a second, and begin to record."""
        while True:
            self.met.clear()
            self.recording = True
            time.sleep(1.0)
            if not self.functions():
                self.parts = parts or None
                return

    def functions(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for code in self.met:
            is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
            if is_function and code.co_filename.startswith(_OURS):
                found.setdefault(code.co_filename.removeprefix(_OURS)[1:], []).append(code.co_qualname)
        return {file: sorted(names) for file, names in sorted(found.items())}

    def walk(self) -> Walk:
        found = self.functions()
        loaded = [name for name in sys.modules if name.split(".")[0] == "dagentd"]
        return Walk(sum(map(len, found.values())), len(found), len(loaded))


def measure(kind: str) -> tuple[Walk, dict[str, list[str]]]:
    """In a process of its own, with a home of its own."""
    with tempfile.TemporaryDirectory(prefix="walk-") as home:
        environment = {**os.environ, "HOME": home, "DAGENTD_SOCKET": f"{home}/s", "XDG_RUNTIME_DIR": home}
        for name in ("STATE", "CONFIG", "CACHE", "DATA"):
            environment[f"XDG_{name}_HOME"] = f"{home}/{name.lower()}"
        made = [sys.executable, "-m", "tests.bench.walks", kind]
        done = subprocess.run(made, env=environment, capture_output=True, text=True, check=True)
        walk, functions = json.loads(done.stdout.splitlines()[-1])
        return Walk(*walk), functions


@contextmanager
def _repository() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="walk-") as place:
        root = Path(place, "project")
        feature = root / ".dagent-worktrees/login"
        _git(Path(place), "init", "-q", "-b", "main", str(root))
        _git(root, "commit", "-q", "--allow-empty", "-m", "First")
        _git(root, "worktree", "add", "-q", "-b", "login", str(feature))
        folder = feature / ".dagent/features/login"
        folder.mkdir(parents=True)
        (folder / "feature.json").write_text('{"id": "login", "name": "Login"}')
        yield root


def _git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Walker", "-c", "user.email=walker@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


_MAKE: dict[str, Any] = {"type": "feature", "agentType": "pm", "featureId": "login"}


_MAKE_ALONE = """
import sys
from pathlib import Path
from dagentd import oneshot
from dagentd.adapters.git import project_at
from dagentd.settings import Settings
with oneshot.writing(project_at(Path(sys.argv[1])), Settings()) as store:
    store.maker.get_or_create("feature", "pm", "login").add([{"role": "user", "content": "Hello."}])
"""


def _with_daemon(root: Path, tracer: Tracer, act: Callable[[Any, dict[str, Any]], None]) -> None:
    """Run the daemon in this process and thread; `act` has a client in a thread that is not traced."""
    from dagentd.adapters.git import project_at
    from dagentd.adapters.service_manager import supervisor
    from dagentd.daemon import Daemon
    from dagentd.rpc.client import Client

    failed: list[BaseException] = []

    def drive() -> None:
        sys.setprofile(None)
        try:
            with Client(timeout=_PATIENCE) as client:
                session = client.call("session.getOrCreate", project=str(root), **_MAKE)
                for text in ("The first finds the session.", "The second knows where it was found."):
                    client.call("session.addMessage", sessionId=session["id"], role="user", content=text)
                act(client, session)
                tracer.recording = False  # that the client leaves is no part of it
        except BaseException as error:
            failed.append(error)
        finally:
            tracer.recording = False
            os.kill(os.getpid(), 15)

    driver = threading.Thread(target=drive)
    tracer.install()
    Daemon([project_at(root)], supervisor()).run(driver.start)
    driver.join()
    if failed:
        raise failed[0]


def add_message(root: Path, tracer: Tracer) -> None:
    """From the line on the socket to its answer, in the thread that reads the connection; and to the documents on disk,
    in the thread that writes them behind the journal, until all that are behind are written. No part of it is what
    comes at some time after that: the watcher that hears of our own writes, the index that is saved."""

    def act(client: Any, session: dict[str, Any]) -> None:
        chat = next(Path(session["worktree"]).rglob("chat*.json"))
        tracer.rest({"rpc-client": "Connection.serve", "projector": "Projections._write"})
        client.call("session.addMessage", sessionId=session["id"], role="user", content="Follow me.")
        _wait(lambda: "Follow me." in chat.read_text() and "projector" not in (tracer.parts or ()))

    _with_daemon(root, tracer, act)


def commit(root: Path, tracer: Tracer) -> None:
    """From a commit in the worktree to the context on disk that names it."""

    def act(client: Any, session: dict[str, Any]) -> None:
        _wait(lambda: any(Path(session["worktree"]).rglob("context*.json")))
        context = next(Path(session["worktree"]).rglob("context*.json"))
        tracer.rest()
        _git(Path(session["worktree"]), "commit", "-q", "--allow-empty", "-m", "Followed")
        _wait(lambda: "Followed" in context.read_text())

    _with_daemon(root, tracer, act)


def show(root: Path, tracer: Tracer) -> None:
    """`dagentd show` where no daemon runs."""
    subprocess.run([sys.executable, "-c", _MAKE_ALONE, str(root)], check=True, capture_output=True)
    from dagentd.cli import main

    sys.argv = ["dagentd", "show", ids.feature_session("pm", "login"), "--project", str(root)]
    sys.setprofile(tracer)
    tracer.recording = True
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        tracer.recording = False


def _wait(done: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not done():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.02)


WALKS = {"addMessage": add_message, "commit": commit, "show": show}


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _here(kind: str) -> None:
    tracer = Tracer()
    with _repository() as root:
        WALKS[kind](root, tracer)
    sys.setprofile(None)
    _tell("\n" + json.dumps([tracer.walk(), tracer.functions()]))


def main() -> None:
    for kind in WALKS:
        walk, functions = measure(kind)
        _tell(f"{kind}: {walk.functions} functions, {walk.files} files, {walk.modules} modules loaded")
        if sys.argv[1:] == ["--told"]:
            for file, names in functions.items():
                _tell(f"  {file}: {' '.join(names)}")


if __name__ == "__main__":
    _here(sys.argv[1]) if sys.argv[1:2] and sys.argv[1] in WALKS else main()
