"""The page in a real browser: every view, live, with the keyboard, with much to show, and with text that attacks."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tarfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common import exceptions
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from dagentd.cli.sample import SESSION, Sample
from tests.e2e.daemon import Daemon
from tests.patience import patience, stretch, until
from tests.web import hostile
from tests.web.browser import chromium as chromium
from tests.web.browser import complaints, look_like, needs_browser
from tests.web.browser import started as started
from tests.web.shop import add
from tests.web.site import Site

pytestmark = needs_browser
VIEWS = {
    "overview": "", "session": f"session?id={SESSION}", "checkpoint": f"checkpoint?id={SESSION}",
    "compactions": f"compactions?id={SESSION}", "feature": "feature?id=login", "search": "search?q=cookie",
    "remembered": "remembered?feature=login&project={root}", "usage": "usage", "health": "health",
}  # fmt: skip
_WIDTHS = ((400, 800), (1280, 900), (2560, 1300))
_AXE = Path("/var/tmp/dagentd-tools/axe-core")
_LONG_TASK = 200  # milliseconds
_NOT_YET = (
    exceptions.ElementClickInterceptedException, exceptions.NoSuchElementException,
    exceptions.StaleElementReferenceException,
)  # fmt: skip


def text(driver: webdriver.Chrome, selector: str = "main") -> str:
    """In one step: what is live may be replaced between two."""
    return str(driver.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector))


def press(driver: webdriver.Chrome, keys: str) -> None:
    ActionChains(driver).send_keys(keys).perform()


def click(driver: webdriver.Chrome, selector: str) -> None:
    """The mouse; what is live may be replaced, or not be there yet, while it comes, or the page still scroll."""

    def clicked() -> bool:
        with contextlib.suppress(*_NOT_YET):
            driver.find_element(By.CSS_SELECTOR, selector).click()
            return True
        return False

    until(clicked, selector)


def test_every_view_at_every_width_in_light_and_dark(
    chromium: webdriver.Chrome, site: Site, daemon: Daemon, shop: Sample
) -> None:
    """Nothing overflows, nothing is complained about, and whoever cannot see or point can use it. With PICTURES set to
    a folder, pictures of all of it are left there."""
    daemon.call("session.forceCompact", sessionId=SESSION)
    daemon.call("memory.add", project=str(shop.root), text="Never store passwords.", by="user", featureId="login")
    daemon.call("memory.add", project=str(shop.root), text="npm test takes a minute.", worktree=str(shop.worktree))
    axe, pictures = _axe(), os.environ.get("PICTURES")
    for name, path in VIEWS.items():
        chromium.get(site.base + path.format(root=shop.root))
        if axe is not None:
            chromium.execute_script(axe)
        for width, height in _WIDTHS:
            for scheme in ("light", "dark"):
                look_like(chromium, width, height, scheme)
                if pictures:
                    chromium.save_screenshot(str(Path(pictures, f"{name}-{width}-{scheme}.png")))
                wide = chromium.execute_script("return document.documentElement.scrollWidth - innerWidth")
                assert wide <= 0, f"{name} is {wide} pixels wider than {width}"
                if axe is not None and width != _WIDTHS[2][0]:
                    assert _findings(chromium) == [], f"{name} {width} {scheme}"
        assert complaints(chromium) == [], name


def _axe() -> str | None:
    """axe-core by npm; None where it cannot be had."""
    script = _AXE / "package" / "axe.min.js"
    if not script.exists():
        _AXE.mkdir(parents=True, exist_ok=True)
        try:
            done = subprocess.run(["npm", "pack", "--silent", "axe-core@4"], cwd=_AXE, capture_output=True, text=True,
                                  timeout=patience())  # fmt: skip
        except OSError:
            return None
        if done.returncode:
            return None
        with tarfile.open(_AXE / done.stdout.split()[-1]) as packed:
            packed.extractall(_AXE, filter="data")
    return script.read_text()


def _findings(driver: webdriver.Chrome) -> list[str]:
    """What axe finds serious or critical. It was given to the page by the driver, past the policy of the page."""
    found = driver.execute_async_script(
        "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']})"
        ".then(found => done(found.violations), error => done([{id: String(error), impact: 'critical', nodes: []}]))"
    )
    grave = [each for each in found if each["impact"] in ("serious", "critical")]
    return [f"{each['id']}: {[node['html'][:120] for node in each['nodes'][:3]]}" for each in grave]


def test_it_is_live(chromium: webdriver.Chrome, site: Site, daemon: Daemon, record_property: Any) -> None:
    """A message is there without a reload, in the session and in the overview."""
    chromium.get(site.base + VIEWS["session"])
    chromium.execute_script("window.same = true")
    begin = time.monotonic()
    add(daemon, SESSION, "user", "Is **this** seen at once?")
    until(lambda: "Is this seen at once?" in text(chromium, "#conversation"), "the message")
    record_property("told", f"{(time.monotonic() - begin) * 1000:.0f} ms from addMessage to the page")
    assert chromium.execute_script("return window.same")
    until(lambda: "10 in chat" in text(chromium, ".facts"), "the count")
    chromium.get(site.base)
    chromium.execute_script("window.same = true")
    add(daemon, SESSION, "user", "And in the overview?")
    until(lambda: "11 messages" in text(chromium), "the overview")
    assert chromium.execute_script("return window.same")
    assert complaints(chromium) == []


def test_what_is_undone_in_the_page_is_undone_on_disk(chromium: webdriver.Chrome, site: Site, shop: Sample) -> None:
    chat = shop.worktree / ".dagent" / "sessions" / f"chat_{SESSION}.json"
    before = [each["id"] for each in json.loads(chat.read_text())["messages"]]

    def here() -> list[str]:
        return [each["id"] for each in json.loads(chat.read_text())["messages"]]

    chromium.get(site.base + VIEWS["session"])
    press(chromium, "g")
    press(chromium, "g")
    click(chromium, "[data-verb=preview]")
    until(lambda: chromium.find_elements(By.CSS_SELECTOR, "dialog[open] .main"), "the preview")
    assert "Compact this session?" in text(chromium, "dialog[open]") and here() == before
    click(chromium, "dialog[open] .main")
    until(lambda: len(here()) < len(before), "the compaction")
    chromium.get(site.base + VIEWS["compactions"])
    click(chromium, ".time-line [data-verb=undo]")
    until(lambda: here() == before, "the undo")
    until(lambda: "undone" in text(chromium, ".time-line"), "the time line")
    assert complaints(chromium) == []


def test_what_is_decided_in_the_page_is_remembered(
    chromium: webdriver.Chrome, site: Site, daemon: Daemon, shop: Sample
) -> None:
    """With the keyboard alone; what happens meanwhile does not take away what is being typed."""
    chromium.get(site.base + VIEWS["remembered"].format(root=shop.root))
    chromium.execute_script("window.same = true")
    chromium.find_element(By.ID, "decision").click()
    press(chromium, "Never store")
    daemon.call("memory.add", project=str(shop.root), text="A note.", worktree=str(shop.worktree))
    until(lambda: "A note." in text(chromium, "#live"), "the note")
    press(chromium, f" passwords.{Keys.ENTER}")
    until(lambda: "Never store passwords." in text(chromium, "#live"), "the decision")
    assert chromium.execute_script("return window.same")
    assert chromium.find_element(By.ID, "decision").get_attribute("value") == ""
    kept = daemon.call("memory.list", project=str(shop.root), by="user")["remembered"]
    assert [(each["text"], each["featureId"]) for each in kept] == [("Never store passwords.", "login")]
    click(chromium, "#live li:first-child [data-verb=withdraw]")
    until(lambda: "Never store" not in text(chromium, "#live"), "the withdrawal")
    assert complaints(chromium) == []


def test_it_is_used_with_the_keyboard(chromium: webdriver.Chrome, site: Site) -> None:
    chromium.get(site.base)
    until(lambda: len(chromium.find_elements(By.CSS_SELECTOR, "[data-row]")) > 1, "the sessions")
    press(chromium, "j")
    first = text(chromium, ".chosen .row-link")
    press(chromium, "j")
    second = text(chromium, ".chosen .row-link")
    assert first and second and first != second, (first, second, text(chromium))
    press(chromium, "k")
    assert text(chromium, ".chosen .row-link") == first
    press(chromium, Keys.ENTER)
    until(lambda: "session?" in chromium.current_url, "the session")
    press(chromium, "?")
    assert "next, previous" in text(chromium, "dialog[open]")
    press(chromium, Keys.ESCAPE)
    assert chromium.find_elements(By.CSS_SELECTOR, "dialog[open]") == []
    press(chromium, "/")
    press(chromium, f"stolen{Keys.ENTER}")
    until(lambda: "search?q=stolen" in chromium.current_url, "the search")
    press(chromium, "j")
    press(chromium, Keys.ENTER)
    until(lambda: chromium.find_elements(By.ID, "target"), "the message")
    assert "can be stolen" in text(chromium, "#target")
    press(chromium, "g")
    press(chromium, "h")
    until(lambda: chromium.current_url.endswith("/health"), "the health")


def test_what_is_chosen_stays_so_when_others_move(chromium: webdriver.Chrome, site: Site, daemon: Daemon) -> None:
    """In the overview whoever was active last stands first."""

    def listed() -> list[str]:
        script = "return [...document.querySelectorAll('.row-link')].map(each => each.innerText)"
        return list(chromium.execute_script(script))

    chromium.get(site.base)
    press(chromium, "j")
    chosen = text(chromium, ".chosen .row-link")
    other = listed()[-1]
    add(daemon, other, "user", "Here I am.")
    until(lambda: listed()[0] == other, "the other session on top")
    assert text(chromium, ".chosen .row-link") == chosen


def test_ten_thousand_messages(
    chromium: webdriver.Chrome, site: Site, daemon: Daemon, shop: Sample, record_property: Any
) -> None:
    """All can be reached by scrolling, no more than some are in the page, and the page never hangs."""
    daemon.call("project.pause", project=str(shop.root))  # or they would be compacted
    said = "The callback starts again, `src/auth/callback.ts` says so.\n\n```ts\nseal(state)\n```\n"
    for start in range(0, 10_000, 500):
        batch = [{"role": "user" if number % 2 else "assistant", "content": f"Number {number}. {said}",
                  "id": f"n{number}"} for number in range(start, start + 500)]  # fmt: skip
        daemon.call("session.addMessages", sessionId="dev-task-login-cookie-in_dev", messages=batch)
    chromium.get(f"{site.base}session?id=dev-task-login-cookie-in_dev")
    chromium.execute_script(
        "window.longest = 0; new PerformanceObserver(found => found.getEntries().forEach("
        "each => { window.longest = Math.max(longest, each.duration) })).observe({entryTypes: ['longtask']})"
    )
    until(lambda: "Number 9999." in text(chromium, ".message:last-of-type"), "the last message")

    def first() -> int:
        return int(chromium.execute_script("return document.querySelector('.message').dataset.id.slice(1)"))

    for _ in range(20):
        before = first()
        chromium.execute_script("window.scrollTo(0, 0)")
        until(partial(lambda known: first() < known, before), "earlier messages")
    assert first() <= 9950 - 20 * 50
    held = chromium.execute_script("return document.querySelectorAll('.message').length")
    assert held <= 700
    longest = chromium.execute_script("return longest")
    record_property("told", f"longest task while 1,000 of 10,000 messages were scrolled through: {longest:.0f} ms")
    assert longest < _LONG_TASK * stretch()
    chromium.get(f"{site.base}session?id=dev-task-login-cookie-in_dev&at=n42#target")
    until(lambda: "Number 42." in text(chromium, "#target"), "the message that was asked for")
    press(chromium, "G")
    until(lambda: chromium.find_elements(By.CSS_SELECTOR, "[data-id=n90]"), "later messages")
    assert complaints(chromium) == []


def test_text_that_attacks_does_nothing(chromium: webdriver.Chrome, site: Site, daemon: Daemon, shop: Sample) -> None:
    dagent = shop.worktree / ".dagent"
    named = {"id": "login", "name": hostile.ONE_LINE, "description": hostile.EVERYTHING, "branchName": hostile.ONE_LINE}
    (dagent / "feature.json").write_text(json.dumps(named))
    nodes = [{"id": hostile.SCRIPT, "title": hostile.ONE_LINE, "status": hostile.SCRIPT}]
    (dagent / "dag.json").write_text(json.dumps({"nodes": nodes}))
    tool = [
        {"id": "t", "name": hostile.ONE_LINE, "input": {"file_path": hostile.ONE_LINE}, "result": hostile.EVERYTHING}
    ]
    add(daemon, SESSION, "assistant", hostile.EVERYTHING, metadata={"toolUse": tool, "model": hostile.ONE_LINE})
    daemon.call("session.forceCompact", sessionId=SESSION)
    daemon.call("memory.add", project=str(shop.root), text=hostile.ONE_LINE, worktree=str(shop.worktree))
    for name, path in {**VIEWS, "search": "search?q=owned"}.items():
        chromium.get(site.base + path.format(root=shop.root))
        chromium.execute_script("document.querySelectorAll('details').forEach(each => { each.open = true })")
        assert chromium.title != "owned"
        assert (
            chromium.execute_script(
                "return [...document.querySelectorAll('main script, main img, main style, main iframe, main [onload], "
                'main [onerror], main a[href^="javascript" i], main a[href^="data" i]\')].map(each => each.outerHTML)'
            )
            == []
        )
        assert complaints(chromium) == [], name


def test_another_page_gets_nothing(chromium: webdriver.Chrome, site: Site, tmp_path: Path) -> None:
    """One that is open in the same browser, which has the cookie: it cannot read, frame, listen or post."""
    evil = tmp_path / "evil.html"
    evil.write_text("<!doctype html><title>evil</title><body></body>")
    chromium.get(evil.as_uri())
    tried = chromium.execute_async_script(
        """
        const [base, done] = arguments;
        const frame = document.createElement("iframe");
        frame.src = base;
        document.body.append(frame);
        const listened = new Promise((resolve) => {
          const stream = new EventSource(base + "events", { withCredentials: true });
          stream.onopen = () => resolve("open");
          stream.onerror = () => { stream.close(); resolve("refused"); };
        });
        const asked = (path, options) => fetch(base + path, { credentials: "include", ...options }).then(
          (answer) => answer.type === "opaque" ? "opaque" : answer.status, () => "refused");
        Promise.all([
          listened, asked("", {}), asked("do", { method: "POST", body: "{}" }),
          asked("do", { method: "POST", mode: "no-cors", body: "{}", headers: { "Content-Type": "text/plain" } }),
          new Promise((resolve) => { frame.onload = () => resolve(frame.contentDocument ? "read" : "closed"); }),
        ]).then(done);
        """,
        site.base,
    )
    assert tried == ["refused", "refused", "refused", "refused", "closed"]
    chromium.get(site.base)
    assert SESSION in text(chromium)  # our own is still let in
