"""Finding: which features and sessions a project has, and which one a name means."""

from __future__ import annotations

from dagentd.errors import Conflict, NotFound
from dagentd.model import ids
from dagentd.model.project import FeatureFolder, GoneFolder, Project, SessionFolder
from dagentd.store.journal.kept_journals import KeptJournals
from dagentd.store.layout import layout, orphans, rolled_back
from dagentd.store.layout.closed_folders import closed


class Catalogue:
    """Holds nothing: every answer is what is on disk now."""

    def __init__(self, project: Project, kept: KeptJournals) -> None:
        self._project, self._kept = project, kept

    def features(self) -> list[FeatureFolder]:
        return [feature for tree in layout.trees(self._project) for feature in layout.features(tree)]

    def feature(self, feature_id: str, worktree: str | None = None) -> FeatureFolder:
        ids.checked(feature_id, "feature id")
        found = [feature for feature in self.features() if feature.id == feature_id]
        if not found:
            raise NotFound(f"no feature {feature_id} in {self._project.root}", hint=f"dagentd new {feature_id}")
        return _meant(found, feature_id, worktree)

    def folders(self) -> list[SessionFolder]:
        return [folder for feature in self.features() for folder in layout.sessions(feature)]

    def find(self, session_id: str, worktree: str | None = None, feature_id: str | None = None) -> SessionFolder:
        """Where a session is; of several worktrees that have it, the one named like its feature is meant. One that
        is gone is found where its journal is kept, and can be read."""
        ids.checked(session_id)
        found = {folder.feature: folder for folder in self.folders() if folder.id == session_id}
        if found:
            return found[_meant(list(found), session_id, worktree, feature_id)]
        if (real := layout.session_meant_by(session_id, self.folders())) is not None:
            return self.find(real, worktree, feature_id)
        if worktree is feature_id is None and (kept := self.gone(session_id)):
            return kept[-1]
        if (error := next(closed(self._project), None)) is not None:  # it may be there
            told = f"{error.message}, and no session {session_id} is elsewhere in {self._project.root}"
            raise NotFound(told, path=error.path, hint=error.hint)
        raise NotFound(f"no session {session_id} in {self._project.root}", hint="dagentd sessions")

    def has(self, session_id: str, worktree: str | None = None, feature_id: str | None = None) -> bool:
        try:
            return not self.find(session_id, worktree, feature_id).gone
        except NotFound:
            return False

    def everything(self) -> list[SessionFolder]:
        """All sessions, and then what was kept of those that are gone."""
        return [*self.folders(), *self.gone()]

    def gone(self, session_id: str | None = None) -> list[GoneFolder]:
        """The folders kept of sessions whose worktree is gone, of each the oldest first. `session_id` may also name one
        of several with its number, as in `pm-feature-login.1`."""
        taken_back = [folder for feature in self.features() for folder, _ in rolled_back.in_feature(feature)]
        found = orphans.orphan_folders(self._project, self._kept, [*self.folders(), *taken_back])
        return [each for each in found if session_id in (None, each.id, each.journal.stem)]


def of_feature(feature: FeatureFolder, session_id: str) -> SessionFolder | None:
    return layout.session(feature, session_id)


def _meant(found: list[FeatureFolder], name: str, worktree: str | None, feature_id: str | None = None) -> FeatureFolder:
    """A worktree may have several features, and a session that was restored may be in the feature of another: where
    only a worktree can be named, `neon/login` names both."""
    if worktree is not None:
        found = [each for each in found if worktree in (each.tree.name, str(each.tree.worktree), _place(each))]
    if feature_id is not None:
        found = [each for each in found if each.id == feature_id]
    own = [each for each in found if each.tree.name == each.id]
    if len(found) == 1 or len(own) == 1:
        return found[0] if len(found) == 1 else own[0]
    if not found:
        told = " of ".join(filter(None, (feature_id and f"feature {feature_id}", worktree and f"worktree {worktree}")))
        raise NotFound(f"{name} is not in {told}", hint="dagentd sessions")
    if len({each.tree for each in found}) == len(found):
        places = ", ".join(sorted(each.tree.name for each in found))
        raise Conflict(f"{name} is in several worktrees: {places}", hint="Name one with `worktree`.")
    hint = "Name one with `featureId`, or with `worktree` as it is listed here."
    raise Conflict(f"{name} is in several features: {', '.join(sorted(map(_place, found)))}", hint=hint)


def _place(feature: FeatureFolder) -> str:
    return f"{feature.tree.name}/{feature.id}"
