"""A real Chromium without a screen, driven by Debian's chromedriver."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.command import Command

from tests.patience import patience, until
from tests.web.site import Site

# As this machine and others without a network need it: nothing asks Google's hosts for anything.
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
)  # fmt: skip
_MISSING = [each for each in ("chromium", "chromedriver") if shutil.which(each) is None]
needs_browser = pytest.mark.skipif(
    bool(_MISSING), reason=f"there is no {' and no '.join(_MISSING)}; `make tools` installs them where it can"
)


_OF_A_PAGE = (Command.W3C_EXECUTE_SCRIPT, Command.W3C_ACTIONS, Command.FIND_ELEMENT, Command.FIND_ELEMENTS,
              Command.CLICK_ELEMENT, Command.SCREENSHOT)  # fmt: skip


class Chromium(webdriver.Chrome):
    """It waits for pages by asking them: chromedriver (150) by itself missed the end of one now and then, at a load of
    10, and waited for ever."""

    def execute(self, driver_command: Any, params: dict[str, Any] | None = None) -> dict[str, Any]:
        if driver_command in _OF_A_PAGE:
            until(self._is_whole, "the page")
        found: dict[str, Any] = super().execute(driver_command, params)
        if driver_command == Command.GET:
            until(self._is_whole, "the page")
        return found

    def _is_whole(self) -> bool:
        with contextlib.suppress(WebDriverException):  # another page came while it was asked
            asked = {"script": "return document.readyState", "args": list[str]()}
            return bool(super().execute(Command.W3C_EXECUTE_SCRIPT, asked)["value"] == "complete")
        return False


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[webdriver.Chrome]:
    options = Options()
    options.binary_location = str(shutil.which("chromium"))
    for flag in (*_FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.page_load_strategy = "none"
    driver = Chromium(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(patience())
    try:
        yield driver
    finally:
        driver.quit()


def look_like(driver: webdriver.Chrome, width: int, height: int, scheme: str = "light") -> None:
    """A window of this size, in light or dark."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features: list[dict[str, Any]] = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def complaints(driver: webdriver.Chrome) -> list[str]:
    """What the console says since it was last asked: errors and warnings."""
    said: list[dict[str, Any]] = driver.get_log("browser")  # type: ignore[no-untyped-call]
    return [each["message"] for each in said if each["level"] in ("SEVERE", "WARNING")]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with browser(tmp_path_factory.mktemp("browser")) as driver:
        yield driver


@pytest.fixture
def chromium(site: Site, started: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """One browser for all tests of a file; the page is another for each, and nothing is left of the last."""
    look_like(started, 1280, 900)
    started.get(site.address)
    yield started
    started.get("about:blank")
    complaints(started)
