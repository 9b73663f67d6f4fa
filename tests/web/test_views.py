"""The views, as the server makes them of what the daemon says."""

from __future__ import annotations

import html
import json
import re
from typing import Any
from urllib.parse import urlencode

import pytest

from dagentd.cli.sample import SESSION, Sample
from dagentd.web import page_changes
from dagentd.web.link import Link
from tests.conftest import git
from tests.e2e.daemon import Daemon
from tests.patience import until
from tests.web import hostile
from tests.web.shop import add
from tests.web.site import Site, served


def ids(page: str) -> list[str]:
    return [html.unescape(each) for each in re.findall(r'data-id="([^"]*)"', page)]


def session_at(**query: Any) -> str:
    return f"session?{urlencode({'id': SESSION, **query})}"


@pytest.fixture
def opened(site: Site) -> Site:
    site.enter()
    return site


def test_the_overview_has_every_session_by_project_and_worktree(opened: Site, shop: Sample, daemon: Daemon) -> None:
    page = opened.read()
    for each in daemon.call("session.list")["sessions"]:
        assert each["id"] in page
    assert str(shop.root) in page and "<bdi>login</bdi>" in page and "9 messages" in page
    git(shop.root, "worktree", "add", "-q", "-b", "basket", ".dagent-worktrees/basket")
    until(lambda: "No session yet in <bdi>basket</bdi>." in opened.read(), "the worktree without a session")
    assert "dagentd new basket" in opened.read()
    daemon.call("session.forceCompact", sessionId=SESSION)
    assert "0 of 9 messages" in opened.read(), "as `dagentd sessions` has it"


def test_a_session_is_read_page_by_page(opened: Site, daemon: Daemon) -> None:
    for number in range(130):
        add(daemon, SESSION, "user", f"Line {number}", id=f"m{number:03}")
    every = [each["id"] for each in daemon.call("session.getHistory", sessionId=SESSION, limit=1000)["messages"]]
    end = opened.read(session_at())
    last = ids(end)
    assert last == every[-50:] and " data-tail" in end, "where what comes is added"
    earlier = opened.read(session_at(before=last[0]))
    before = ids(earlier)
    assert before == every[-100:-50] and " data-tail" not in earlier
    assert ids(opened.read(f"messages?{urlencode({'id': SESSION, 'after': before[-1]})}")) == last
    around = opened.read(session_at(at=every[5]))
    assert every[5] in ids(around) and f'id="target" data-id="{every[5]}"' in around
    assert ids(around) == every[:50]
    assert ids(opened.read(session_at(at=every[70]))) == every[60:110]
    assert ids(opened.read(session_at(time="0001-01-01T00:00:00Z")))[0] == every[0]
    assert opened.ask(f"{opened.path}{session_at(at='nothing')}").status == 404
    add(daemon, SESSION, "assistant", "New", id="new")
    assert ids(opened.read(f"messages?{urlencode({'id': SESSION, 'after': 'm129'})}")) == ["new"]


def test_search_leads_to_the_message(opened: Site, daemon: Daemon) -> None:
    page = opened.read("search?q=stolen")
    assert "<mark>stolen</mark>" in page
    link = html.unescape(re.findall(r'href="(session\?[^"]*at=[^"]*)"', page)[0])
    found = opened.read(link.split("#")[0])
    assert "can be stolen" in found.split('id="target"')[1].split("</article>")[0]
    assert "Nobody said that" in opened.read("search?q=xyzzyplugh")
    assert "Type words" in opened.read("search?q=")


def test_what_others_wrote_stays_text_in_every_view(daemon: Daemon, shop: Sample) -> None:
    feature = {"id": "login", "name": hostile.ONE_LINE, "description": hostile.EVERYTHING,
               "branchName": hostile.ONE_LINE, "status": hostile.SCRIPT}  # fmt: skip
    dagent = shop.worktree / ".dagent"
    (dagent / "feature.json").write_text(json.dumps(feature))
    (dagent / "dag.json").write_text(json.dumps({"nodes": [{"id": hostile.SCRIPT, "title": hostile.ONE_LINE,
                                                            "status": hostile.SCRIPT}]}))  # fmt: skip
    tool = {"toolUse": [{"id": "t", "name": hostile.ONE_LINE, "input": {"file_path": hostile.ONE_LINE},
                         "result": hostile.EVERYTHING}], "model": hostile.ONE_LINE}  # fmt: skip
    add(daemon, SESSION, "assistant", hostile.EVERYTHING, metadata=tool, id="a\"><script>'")
    daemon.call("session.updateCheckpoint", sessionId=SESSION,
                checkpoint={"summary": {"decisions": [hostile.ONE_LINE], "goal": hostile.EVERYTHING}})  # fmt: skip
    with served() as site:
        site.enter()
        query = urlencode({"q": f'owned {hostile.SCRIPT} "'})
        for path in ("", session_at(), f"checkpoint?id={SESSION}", f"compactions?id={SESSION}", "feature?id=login",
                     f"search?{query}", "usage", "health", "search?q=owned"):  # fmt: skip
            page = site.ask(site.path + path).text
            assert re.findall(r"<(?:script|img|style)(?! src=\"page\.js\")[^>]*>", page) == [], path
            assert re.search(r"<[^>]*\son\w+=", re.sub(r'"[^"]*"', '""', page)) is None, path
            assert re.search(r'href="\s*(?:javascript|data|vbscript|file):', page, re.IGNORECASE) is None, path
            assert re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", page.replace("\n", "")) is None, path


def test_a_compaction_that_gains_nothing_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"proposalId": "p1", "messages": [{"id": "m1"}], "tokensBefore": 840, "tokensAfter": 891}
    monkeypatch.setattr(Link, "call", lambda *_, **__: found)
    done = page_changes.do(Link(), {"verb": "preview", "given": {"sessionId": SESSION}})
    assert "Nothing is gained" in done["told"] and "dialog" not in done


def test_verbs_do_on_disk_what_they_say(opened: Site, daemon: Daemon, shop: Sample) -> None:
    chat = shop.worktree / ".dagent" / "sessions" / f"chat_{SESSION}.json"
    before = [each["id"] for each in json.loads(chat.read_text())["messages"]]
    proposed = json.loads(opened.do("preview", sessionId=SESSION).text)
    assert "Compact this session?" in proposed["dialog"]
    assert json.loads(opened.do(proposed["verb"], **proposed["given"]).text)["told"].endswith("It can be undone.")

    def here() -> list[str]:
        return [each["id"] for each in json.loads(chat.read_text())["messages"]]

    until(lambda: len(here()) < len(before), "the chat without what left it")
    left = here()
    line = opened.read(f"compactions?id={SESSION}")
    assert f"{len(before) - len(left)} messages left the chat" in line and ">Undo<" in line
    assert "Compacted:" in opened.read(session_at())
    assert "back in the chat" in opened.do("undo", sessionId=SESSION).text
    until(lambda: here() == before, "the chat as it was")
    assert "undone" in opened.read(f"compactions?id={SESSION}")
    assert "Pinned" in opened.do("pin", sessionId=SESSION, messageId=before[0], pinned=True).text
    assert daemon.call("session.get", sessionId=SESSION)["pinnedMessages"] == [before[0]]
    assert "Paused" in opened.do("pause", sessionId=SESSION).text
    assert daemon.call("session.get", sessionId=SESSION)["paused"]["of"] == "session"
    assert "Resumed" in opened.do("resume", sessionId=SESSION).text
    assert "Paused" in opened.do("pause-project", project=str(shop.root)).text
    assert "Resumed" in opened.do("resume-project", project=str(shop.root)).text
    assert "Archived" in opened.do("archive", sessionId=SESSION).text
    assert daemon.call("session.get", sessionId=SESSION)["status"] == "archived"
    assert "Make active" in opened.read(session_at())
    assert "Active again" in opened.do("unarchive", sessionId=SESSION).text
    assert daemon.call("session.get", sessionId=SESSION)["status"] == "active"
    refused = opened.do("forget", sessionId=SESSION)
    assert refused.status == 409 and "may not do" in refused.text


def test_what_is_remembered_is_read_decided_and_withdrawn(opened: Site, daemon: Daemon, shop: Sample) -> None:
    """What is typed at the page is the user's decision; an agent's note becomes one if the user says so."""
    root = str(shop.root)
    page = f"remembered?{urlencode({'project': root, 'feature': 'login'})}"
    assert "Nothing is remembered yet" in opened.read(page) and "dagentd remember" in opened.read(page)
    assert "Remembered: No" in opened.do("remember", project=root, featureId="login", text="No passwords.").text
    note = daemon.call("memory.add", project=root, text=hostile.ONE_LINE, by="agent", worktree=str(shop.worktree))
    listed = opened.read(page)
    assert listed.count("data-row") == 2 and ">Decide so<" in listed and "<script>document" not in listed
    assert "Remembered" in opened.do("confirm", project=root, confirms=note["id"]).text
    kept = daemon.call("memory.list", project=root)["remembered"]
    assert [each["by"] for each in kept] == ["user", "user"] and kept[0]["featureId"] == "login"
    for each in kept:
        assert "Withdrawn" in opened.do("withdraw", project=root, id=each["id"]).text
    assert daemon.call("memory.list", project=root)["remembered"] == []


def test_the_checkpoint_leads_to_its_sources(opened: Site, daemon: Daemon) -> None:
    assert "There is nothing in it yet" in opened.read(f"checkpoint?id={SESSION}")
    daemon.call("session.forceCompact", sessionId=SESSION)
    page = opened.read(f"checkpoint?id={SESSION}")
    links = [html.unescape(each) for each in re.findall(r'href="(session\?[^"]*at=[^"]*)"', page)]
    assert links and 'id="target"' in opened.read(links[0].split("#")[0])


def test_a_feature_draws_its_tasks(opened: Site, shop: Sample) -> None:
    page = opened.read("feature?id=login")
    assert page.count('class="box stage-') == 6 and page.count('class="edge"') == 6
    assert "dev-task-login-cookie-in_dev" in page.split('id="task-2"')[1].split("</section>")[0]
    assert "dagentd new login --role dev --task logout" in page, "a task without a session says what begins one"
    placed = {"positions": {key: {"x": 300 * at, "y": -50} for at, key in
                            enumerate(("plan", "callback", "cookie", "page", "logout", "docs"))}}  # fmt: skip
    (shop.worktree / ".dagent" / "layout.json").write_text(json.dumps(placed))
    assert re.findall(r'<rect x="([\d.]+)" y="4.0"', opened.read("feature?id=login")) == [
        "4.0", "304.0", "604.0", "904.0", "1204.0", "1504.0"]  # fmt: skip


def test_without_a_daemon_it_says_so_and_goes_on_when_there_is_one(opened: Site, daemon: Daemon) -> None:
    pid = daemon.pid
    daemon.call("daemon.shutdown")
    daemon.ends(pid)
    answer = opened.ask(opened.path)
    assert answer.status == 503 and "The daemon does not answer" in answer.text and "dagentd start" in answer.text
    daemon.run()
    assert SESSION in opened.read()


def test_health_has_the_remedies_of_the_doctor(opened: Site) -> None:
    page = opened.read("health")
    assert "dagentd hooks install" in page and 'data-copy="dagentd doctor --fix"' in page


def test_unknown_sessions_and_pages_are_told_in_words(opened: Site) -> None:
    for path in ("session?id=nobody", "feature?id=nothing", "nothing"):
        answer = opened.ask(opened.path + path)
        assert answer.status == 404 and "Not found" in answer.text, path
    assert opened.ask(f"{opened.path}session").status == 400
