"""Installing a service: what is planned for each manager, and what is done where one answers, fails or is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from dagentd.errors import Conflict, DagentdError, InvalidInput
from dagentd.jobs import user_service
from dagentd.jobs.service_files import Launchd, Program, Systemd

PROGRAM = Program(("/opt/dagentd",), {})
UNITS = Path("/u")
SERVICE, SOCKET = UNITS / "dagentd.service", UNITS / "dagentd.socket"
SERVICE_LINK = UNITS / "default.target.wants" / "dagentd.service"
SOCKET_LINK = UNITS / "sockets.target.wants" / "dagentd.socket"
RELOAD = ("systemctl", "--user", "daemon-reload")


def systemctl(*words: str) -> tuple[str, ...]:
    return ("systemctl", "--user", *words)


def test_the_plan_for_systemd() -> None:
    plan = user_service.plan_install(Systemd(UNITS), PROGRAM, False, set())
    assert list(plan.write) == [SERVICE]
    assert (plan.before, plan.remove) == ([], [])
    assert plan.after == [RELOAD, systemctl("enable", "dagentd.service")]


def test_with_a_socket_the_service_no_longer_starts_at_login() -> None:
    plan = user_service.plan_install(Systemd(UNITS), PROGRAM, True, {SERVICE, SERVICE_LINK})
    assert list(plan.write) == [SERVICE, SOCKET]
    assert (plan.before, plan.remove) == ([], [SERVICE_LINK])
    assert plan.after == [RELOAD, systemctl("enable", "dagentd.socket")]


def test_without_it_again_the_socket_goes() -> None:
    plan = user_service.plan_install(Systemd(UNITS), PROGRAM, False, {SERVICE, SOCKET, SOCKET_LINK})
    assert plan.before == [systemctl("stop", "dagentd.socket")]
    assert plan.remove == [SOCKET, SOCKET_LINK]


def test_the_plan_to_uninstall_has_what_is_there_and_no_more() -> None:
    plan = user_service.plan_uninstall(Systemd(UNITS), {SERVICE, SERVICE_LINK, SOCKET})
    assert plan.before == [systemctl("stop", "dagentd.socket", "dagentd.service")]
    assert (plan.write, plan.remove, plan.after) == ({}, [SERVICE, SOCKET, SERVICE_LINK], [RELOAD])
    assert user_service.plan_uninstall(Systemd(UNITS), set()) == user_service.Plan({}, [], [], [])


def test_the_plans_for_launchd() -> None:
    manager, path = Launchd(Path("/agents"), 501), Path("/agents/org.dagentd.plist")
    load, unload = ("launchctl", "bootstrap", "gui/501", str(path)), ("launchctl", "bootout", "gui/501/org.dagentd")
    first = user_service.plan_install(manager, PROGRAM, False, set())
    assert (list(first.write), first.before, first.after) == ([path], [], [load])
    again = user_service.plan_install(manager, PROGRAM, False, {path})
    assert (again.before, again.remove, again.after) == ([unload], [], [load])
    assert user_service.plan_uninstall(manager, {path}) == user_service.Plan({}, [path], [unload], [])
    with pytest.raises(InvalidInput):
        user_service.plan_install(manager, PROGRAM, True, set())


class StandIn:
    """A systemctl that writes down what it was told."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._log, self._command = folder / "log", folder / "systemctl"
        self.answer("")
        monkeypatch.setenv("PATH", str(folder))

    def answer(self, failing: str) -> None:
        """Succeed, but for the given word."""
        script = f'#!/bin/sh\necho "$*" >> "{self._log}"\n[ "$2" != "{failing}" ] || {{ echo "no $2" >&2; exit 1; }}\n'
        self._command.write_text(script)
        self._command.chmod(0o700)

    def remove(self) -> None:
        self._command.unlink()

    def told(self) -> list[str]:
        """Since the last time; the question whether it is there apart."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return [line for line in lines if line != "--user show-environment"]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    folder = tmp_path / "bin"
    folder.mkdir()
    return StandIn(folder, monkeypatch)


@pytest.fixture
def manager(tmp_path: Path) -> Systemd:
    return Systemd(tmp_path / "config" / "systemd" / "user")


def install(manager: Systemd, socket: bool = False) -> user_service.Report:
    return user_service.apply(
        user_service.plan_install(manager, PROGRAM, socket, user_service.present(manager)), manager
    )


def enable(manager: Systemd, unit: Path) -> None:
    link = manager.links()[unit]
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(unit)


def test_installing_writes_the_files_and_tells_the_manager(stand_in: StandIn, manager: Systemd) -> None:
    report = install(manager)
    assert report.written == [manager.folder / "dagentd.service"] and not report.waiting
    assert stand_in.told() == ["--user daemon-reload", "--user enable dagentd.service"]
    assert install(manager).written == []


def test_uninstalling_leaves_only_what_is_not_ours(stand_in: StandIn, manager: Systemd) -> None:
    install(manager, socket=True)
    enable(manager, manager.folder / "dagentd.socket")
    other = manager.folder / "other.service"
    other.write_text("")
    stand_in.told()
    user_service.apply(user_service.plan_uninstall(manager, user_service.present(manager)), manager)
    assert [path for path in manager.folder.rglob("*") if not path.is_dir()] == [other]
    assert stand_in.told() == ["--user stop dagentd.socket dagentd.service", "--user daemon-reload"]


def test_uninstalling_leaves_no_folder_that_is_empty_without_it(stand_in: StandIn, manager: Systemd) -> None:
    config = manager.folder.parents[1]
    config.mkdir()
    install(manager)
    enable(manager, manager.folder / "dagentd.service")
    user_service.apply(user_service.plan_uninstall(manager, user_service.present(manager)), manager)
    assert list(config.iterdir()) == [], "neither systemd/user nor what the link was in"


def test_without_a_manager_the_commands_are_left_for_later(stand_in: StandIn, manager: Systemd) -> None:
    stand_in.remove()
    report = install(manager)
    assert report.written and report.ran == []
    assert report.why == "systemctl: No such file or directory"
    assert report.waiting == [RELOAD, systemctl("enable", "dagentd.service")]
    assert user_service.state(manager) == user_service.State([manager.folder / "dagentd.service"], [], None)


def test_a_manager_that_refuses_is_an_error_with_its_words(stand_in: StandIn, manager: Systemd) -> None:
    stand_in.answer(failing="enable")
    with pytest.raises(DagentdError, match=r"enable dagentd\.service` failed: no enable"):
        install(manager)


def test_what_cannot_be_stopped_is_removed_all_the_same(stand_in: StandIn, manager: Systemd) -> None:
    install(manager)
    stand_in.answer(failing="stop")
    report = user_service.apply(user_service.plan_uninstall(manager, user_service.present(manager)), manager)
    assert report.removed and report.ran == [RELOAD]


def test_a_unit_of_somebody_else_is_left_alone(stand_in: StandIn, manager: Systemd) -> None:
    manager.folder.mkdir(parents=True)
    unit = manager.folder / "dagentd.socket"
    unit.write_text("[Socket]\n")
    with pytest.raises(Conflict, match=str(unit)):
        install(manager, socket=True)
    assert list(manager.folder.iterdir()) == [unit] and stand_in.told() == []
    assert user_service.present(manager) == set()


def test_the_state_tells_installed_enabled_and_active(stand_in: StandIn, manager: Systemd) -> None:
    install(manager)
    unit = manager.folder / "dagentd.service"
    assert user_service.state(manager) == user_service.State([unit], [], [unit])
    enable(manager, unit)
    stand_in.answer(failing="is-active")
    assert user_service.state(manager) == user_service.State([unit], [unit], [])


def test_an_installed_service_is_steered_through_its_manager(stand_in: StandIn) -> None:
    assert not user_service.control("start")
    ours = user_service.manager()
    assert isinstance(ours, Systemd)
    install(ours, socket=True)
    stand_in.told()
    assert user_service.control("start") and user_service.control("restart") and user_service.control("stop")
    assert stand_in.told() == [
        "--user start dagentd.socket dagentd.service",
        "--user restart dagentd.service",
        "--user stop dagentd.socket dagentd.service",
    ]
    stand_in.answer(failing="start")
    with pytest.raises(DagentdError, match="no start") as caught:
        user_service.control("start")
    assert caught.value.hint == "journalctl --user -u dagentd"
    stand_in.remove()
    assert not user_service.control("stop")
