from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagentd.errors import InvalidInput
from dagentd.model import agent_types
from dagentd.model.ids import AgentType
from dagentd.model.jsontext import Undecodable

AT = "2026-01-17T10:00:00.000Z"
TYPES = get_args(AgentType)
VALUES: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text())


@pytest.mark.parametrize("agent_type", TYPES)
def test_every_type_has_a_description(agent_type: str) -> None:
    found = agent_types.default(agent_type, AT)
    assert found.raw().keys() == {"agentType", "roleInstructions", "toolInstructions", "createdAt"}
    assert (found.agent_type, found.created_at) == (agent_type, AT)
    assert found.role_instructions.startswith("You ")
    assert ".dagent/" in found.tool_instructions


def test_roles_differ() -> None:
    """But for that of a feature's agent, which is another name for its project manager."""
    assert len({agent_types.default(agent_type, AT).role_instructions for agent_type in TYPES}) == len(TYPES) - 1
    assert agent_types.default("feature", AT).role_instructions == agent_types.default("pm", AT).role_instructions


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'boss'"):
        agent_types.default("boss", AT)


def test_the_canonical_shape_replaces_both_texts() -> None:
    raw = {"roleInstructions": "Be brief.", "toolInstructions": "Use rg.", "team": {"x": 1}, "createdAt": "old"}
    assert agent_types.replaced_by(raw, "dev", AT).raw() == {
        "agentType": "dev",
        "roleInstructions": "Be brief.",
        "toolInstructions": "Use rg.",
        "createdAt": AT,
        "team": {"x": 1},
    }


def test_the_shape_of_session_checkpoint_architecture_is_folded_into_it() -> None:
    raw = {
        "role": "You are our reviewer.",
        "instructions": ["Read the diff.", "Run make test."],
        "allowedTools": ["Read", "Bash"],
        "toolInstructions": "Quote paths.",
        "tokens": 12,
    }
    assert agent_types.replaced_by(raw, "qa", AT).raw() == {
        "agentType": "qa",
        "roleInstructions": "You are our reviewer.\n\n- Read the diff.\n- Run make test.",
        "toolInstructions": "Use only these tools: Read, Bash.\n\nQuote paths.",
        "createdAt": AT,
        "allowedTools": ["Read", "Bash"],
        "tokens": 12,
    }


def test_what_the_file_does_not_give_stays_the_default() -> None:
    usual = agent_types.default("pm", AT)
    only_tools = agent_types.replaced_by({"toolInstructions": "Use rg."}, "pm", AT)
    assert (only_tools.role_instructions, only_tools.tool_instructions) == (usual.role_instructions, "Use rg.")
    only_role = agent_types.replaced_by({"role": "Plan."}, "pm", AT)
    assert (only_role.role_instructions, only_role.tool_instructions) == ("Plan.", usual.tool_instructions)


def test_a_session_s_description_can_be_copied_to_be_the_user_s() -> None:
    first = agent_types.replaced_by({"role": "R", "allowedTools": ["Read"], "toolInstructions": "T"}, "dev", AT)
    assert agent_types.replaced_by(first.raw(), "dev", AT) == first


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        ({}, "has none of roleInstructions, role, instructions, toolInstructions, allowedTools"),
        ({"roleInstruction": "typo"}, "has none of"),
        ({"role": "R", "agentType": "qa"}, "has a wrong 'agentType': this file is for dev"),
        ({"roleInstructions": ["a"]}, "has a wrong 'roleInstructions': it must be a text, not a list"),
        ({"role": None}, "has a wrong 'role': it must be a text, not null"),
        ({"instructions": {}}, "has a wrong 'instructions': it must be a list of texts, not an object"),
        ({"instructions": ["a", 1]}, "has a wrong 'instructions': it must hold only texts, not a number"),
        ({"role": "R", "allowedTools": {}}, "has a wrong 'allowedTools': it must be a list of texts, not an object"),
        ({"toolInstructions": 3}, "has a wrong 'toolInstructions': it must be a text, not a number"),
    ],
)
def test_a_wrong_shape_is_told_in_a_sentence(raw: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Undecodable) as refused:
        agent_types.replaced_by(raw, "dev", AT)
    assert sentence in str(refused.value)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a slow machine is no failure
@given(st.dictionaries(st.sampled_from([*agent_types._KEYS, "agentType", "createdAt", "other"]), VALUES))
def test_any_object_is_a_description_or_undecodable(raw: dict[str, Any]) -> None:
    try:
        found = agent_types.replaced_by(raw, "merge", AT)
    except Undecodable:
        return
    assert found.agent_type == "merge"
    assert found.role_instructions and found.tool_instructions
