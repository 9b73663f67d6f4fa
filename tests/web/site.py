"""`dagentd web` in a process of its own, and requests to it as a browser or an attacker would send them."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.patience import patience
from tests.warm import Command


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str


@dataclass
class Site:
    """`address` is the one that works once."""

    process: subprocess.Popen[str]
    address: str
    cookie: str = field(default="", repr=False)

    @property
    def port(self) -> int:
        return int(urlsplit(self.address).port or 0)

    @property
    def base(self) -> str:
        return self.address.split("enter?")[0]

    @property
    def path(self) -> str:
        return urlsplit(self.base).path

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path: str, method: str = "GET", body: str | None = None, **headers: str | None) -> Answer:
        """`host=None` leaves a header out; else it is as our page in a browser sends it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience())
        given = {"Host": f"127.0.0.1:{self.port}", "Cookie": self.cookie or None}
        given |= {name.replace("_", "-").title(): value for name, value in headers.items()}
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body.encode())))
            connection.endheaders(body.encode() if body is not None else None)
            answer = connection.getresponse()
            text = "" if "event-stream" in answer.headers.get("Content-Type", "") else answer.read().decode()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, text)

    def enter(self) -> None:
        """As the browser does that was opened with the address."""
        answer = self.ask(self.address.removeprefix(self.origin))
        assert answer.status == 303, answer
        self.cookie = answer.headers["set-cookie"].split(";")[0]

    def read(self, page: str = "") -> str:
        answer = self.ask(self.path + page)
        assert answer.status == 200, answer
        return answer.text

    def token(self) -> str:
        found = re.search(r'name="token" content="([^"]+)"', self.ask(self.path).text)
        assert found
        return found[1]

    def do(self, verb: str, **given: Any) -> Answer:
        said = json.dumps({"verb": verb, "given": given})
        more = {"content_type": "application/json", "origin": self.origin, "x_dagentd_token": self.token()}
        return self.ask(f"{self.path}do", "POST", said, **more)


@contextlib.contextmanager
def served(*options: str) -> Iterator[Site]:
    process = Command(
        "web", "--no-open", *options, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + process.communicate(timeout=patience())[0]
        yield Site(process, found[0])
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=patience())
