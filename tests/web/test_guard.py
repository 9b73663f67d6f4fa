"""Nobody but the page itself, in the browser of this user, is answered."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.patience import patience
from tests.web.site import Answer, Site, served

# No daemon runs: what is let in is answered with 503 and the page that says so.
LET_IN = (200, 303, 503)


@pytest.fixture
def site() -> Iterator[Site]:
    with served() as site:
        site.enter()
        yield site


def attacks(site: Site) -> dict[str, dict[str, Any]]:
    """By name: how the request of our own page was changed."""
    port, other = site.port, "http://evil.example"
    return {
        "a name bound to this machine": {"host": f"evil.example:{port}"},
        "another name of this machine": {"host": f"localhost:{port}"},
        "another address of it": {"host": f"127.0.0.2:{port}"},
        "a host that begins like ours": {"host": f"127.0.0.1:{port}.evil.example"},
        "a host without a port": {"host": "127.0.0.1"},
        "no host": {"host": None},
        "another page": {"origin": other},
        "a page of no origin": {"origin": "null"},
        "a page on another port": {"origin": f"http://127.0.0.1:{port + 1}"},
        "a page by https": {"origin": f"https://127.0.0.1:{port}"},
        "an origin that begins like ours": {"origin": f"http://127.0.0.1:{port}.evil.example"},
        "another site": {"sec_fetch_site": "cross-site"},
        "another port of this machine": {"sec_fetch_site": "same-site"},
        "no cookie": {"cookie": ""},
        "another cookie": {"cookie": f"dagentd-{port}=guess"},
        "the cookie of another name": {"cookie": site.cookie.replace("dagentd-", "x-")},
        "a cookie that is none": {"cookie": "\x7f=;;"},
    }


@pytest.mark.parametrize("page", ["", "session?id=x", "search?q=x", "events", "page.js", "messages?id=x", "nothing"])
def test_reading_is_for_our_own_page(site: Site, page: str) -> None:
    assert site.ask(site.path + page).status not in (400, 401, 403, 421)
    answered = {name: site.ask(site.path + page, **change) for name, change in attacks(site).items()}
    assert {name: each.status for name, each in answered.items() if each.status in LET_IN} == {}
    assert [each.text for each in answered.values() if "dagentd" in each.text and "dagentd web" not in each.text] == []


def test_changing_is_for_our_own_page(site: Site) -> None:
    """Also where the cookie is right: another page can have a browser send it."""
    token = site.token()
    body = json.dumps({"verb": "archive", "given": {"sessionId": "x"}})
    right: dict[str, Any] = {"content_type": "application/json", "origin": site.origin, "x_dagentd_token": token}

    def post(**change: Any) -> Answer:
        return site.ask(f"{site.path}do", "POST", body, **{**right, **change})

    assert post().status == 409  # no daemon runs, and it says so
    bad = attacks(site) | {
        "a form of another page": {"content_type": "text/plain"},
        "a form": {"content_type": "application/x-www-form-urlencoded"},
        "a form with files": {"content_type": "multipart/form-data; boundary=x"},
        "JSON in disguise": {"content_type": "text/plain; application/json"},
        "no type": {"content_type": None},
        "no origin": {"origin": None},
        "typed by hand": {"sec_fetch_site": "none"},
        "no token": {"x_dagentd_token": None},
        "another token": {"x_dagentd_token": "guess"},
    }
    answered = {name: post(**change).status for name, change in bad.items()}
    assert {name: status for name, status in answered.items() if status not in (400, 401, 403, 415, 421)} == {}
    assert site.ask(f"{site.path}do").status == 405  # a link of another page
    assert site.ask(f"{site.path}do", "PUT", body, **right).status == 405
    assert site.ask(f"{site.path}do", "OPTIONS", origin="http://evil.example").status in (403, 405)
    assert post(content_type="application/json", x_dagentd_token=token).status == 409


def test_the_address_works_once(site: Site) -> None:
    again = site.address.removeprefix(site.origin)
    assert site.ask(again, cookie="").status == 401
    assert "set-cookie" not in site.ask(again, cookie="").headers
    assert site.ask(again).status == 303  # a tab of the browser that has the cookie is opened again


def test_a_code_cannot_be_guessed() -> None:
    with served() as site:
        right = site.address.removeprefix(site.origin)
        enter, code = right.split("?code=")
        assert len(code) >= 32
        guesses = [site.ask(f"{enter}?code={guess}").status for guess in ("", "x", code[:-1], code + "x", code.lower())]
        assert guesses == [401] * 5
        assert site.ask(right).status == 401  # now nobody gets in


def test_another_site_cannot_use_the_address() -> None:
    with served() as site:
        right = site.address.removeprefix(site.origin)
        assert site.ask(right, sec_fetch_site="cross-site").status == 403
        assert site.ask(right, host=f"evil.example:{site.port}").status == 421
        assert site.ask(right, sec_fetch_site="none").status == 303  # from the address bar


def test_the_cookie_is_for_this_page_alone() -> None:
    """It is the same for all ports of a host, so that other servers on this machine would be sent it: the path is what
    keeps it from them."""
    with served() as site:
        told = site.ask(site.address.removeprefix(site.origin)).headers["set-cookie"].lower()
    assert all(part in told for part in ("httponly", "samesite=strict", f"path={site.path.rstrip('/').lower()}"))
    assert len(site.path.strip("/")) >= 20
    assert "domain" not in told and "max-age" not in told and "expires" not in told


@pytest.mark.parametrize("other", ['seen={"a": "b"}', "two words", "dagentd-PORT=theirs", "=", "a=\x01"])
def test_cookies_of_other_servers_of_this_machine_keep_nobody_out(site: Site, other: str) -> None:
    """The browser sends them to every port."""
    theirs = other.replace("PORT", str(site.port))
    for cookies in (f"{theirs}; {site.cookie}", f"{site.cookie}; {theirs}"):
        assert site.ask(site.path, cookie=cookies).status == 503
    assert site.ask(site.path, cookie=f"{theirs}; {site.cookie}x").status == 401


def test_connections_that_ask_nothing_make_room(site: Site) -> None:
    """Anybody on this machine can make them."""
    with contextlib.ExitStack() as held:
        for number in range(250):
            idle = held.enter_context(socket.create_connection(("127.0.0.1", site.port), timeout=patience()))
            idle.sendall(b"GET / HTTP/1.1\r\nHost:"[: number % 3 * 10])
        answer = site.ask(site.path)
    assert "dagentd is not running" in answer.text, answer


def test_every_answer_forbids_scripts_frames_and_guessing(site: Site) -> None:
    answers = [site.ask(site.path), site.ask("/"), site.ask(site.path, cookie=""), site.ask(f"{site.path}page.css"),
               site.ask(site.path, host="evil.example"), site.ask(f"{site.path}nothing")]  # fmt: skip
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "*" not in policy and "http" not in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


def test_a_slash_too_many_leads_nowhere(site: Site) -> None:
    """Least of all to an address without the secret part."""
    assert [site.ask(site.path + page).status for page in ("session/", "/", "/evil.example/")] == [404] * 3


def test_there_is_no_websocket(site: Site) -> None:
    more = {"upgrade": "websocket", "connection": "Upgrade", "sec_websocket_version": "13",
            "sec_websocket_key": "dGhlIHNhbXBsZSBub25jZQ==", "origin": "http://evil.example"}  # fmt: skip
    assert site.ask(f"{site.path}events", **more).status == 403
    assert site.ask(f"{site.path}events", **{**more, "origin": site.origin}).status != 101


def test_it_listens_on_this_machine_alone(site: Site) -> None:
    for family, address in ((socket.AF_INET, "127.0.0.2"), (socket.AF_INET6, "::1")):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            assert probe.connect_ex((address, site.port)) != 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="the system does not say whose a connection is")
def test_another_user_of_the_machine_gets_nothing(site: Site) -> None:
    """Not even with the cookie and the address, as a command line shows it for a moment."""
    script = (
        "import http.client, sys\n"
        "c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))\n"
        "c.request('GET', sys.argv[2], headers={'Cookie': sys.argv[3]})\n"
        "print(c.getresponse().status)\n"
    )
    done = _as_another(script, str(site.port), site.path, site.cookie)
    assert done.stdout.strip() == "403", done
    assert site.ask(site.path).status == 503


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="the system does not say whose a connection is")
def test_another_user_who_hangs_up_at_once_cannot_use_up_the_code() -> None:
    """Of a connection that nobody has any more the system says that it is root's."""
    with served() as site:
        start = site.address.removeprefix(site.origin).partition("=")[0]
        script = (
            "import socket, sys\n"
            "for _ in range(10):\n"
            "    with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as gone:\n"
            "        host = f'Host: 127.0.0.1:{sys.argv[1]}'\n"
            "        gone.sendall(f'GET {sys.argv[2]}=guess HTTP/1.1\\r\\n{host}\\r\\n\\r\\n'.encode())\n"
        )
        site.process.send_signal(signal.SIGSTOP)  # it looks when he has gone
        try:
            assert _as_another(script, str(site.port), start).returncode == 0
        finally:
            site.process.send_signal(signal.SIGCONT)
        site.enter()


def _as_another(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    return subprocess.run([python, "-c", script, *arguments], user=65534, group=65534, extra_groups=[],
                          env={"PATH": "/usr/bin:/bin"}, cwd="/", capture_output=True, text=True, check=False,
                          timeout=patience())  # fmt: skip


def test_long_requests_are_refused(site: Site) -> None:
    more = {"content_type": "application/json", "origin": site.origin, "x_dagentd_token": site.token()}
    assert site.ask(f"{site.path}do", "POST", json.dumps({"verb": "x" * 100_000}), **more).status == 413
    for body in ("{", "[" * 60_000, '{"a": ' * 10_000):
        assert site.ask(f"{site.path}do", "POST", body, **more).status == 400
    assert site.ask(f"{site.path}do", "POST", '{"verb": [], "given": {}}', **more).status == 409
    assert site.ask(f"{site.path}do", "POST", '{"verb": "daemon.shutdown", "given": {}}', **more).status == 409
