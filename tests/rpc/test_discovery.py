"""`rpc.discover` is whole, and true."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from dagentd.events import EventType
from dagentd.rpc.discovery import openrpc_document
from dagentd.rpc.methods import METHODS
from tests.conftest import SampleProject
from tests.e2e.daemon import Daemon
from tests.rpc import scenario
from tests.rpc.schemas import event_faults, faults, jsonschema, result_faults

referencing: Any = importlib.import_module("referencing")  # comes with jsonschema
DRAFT7 = importlib.import_module("referencing.jsonschema").DRAFT7
META = Path(__file__).parent / "open-rpc"


def test_it_passes_the_meta_schema() -> None:
    meta, of_schemas = (json.loads((META / f"{name}.json").read_text()) for name in ("meta-schema", "json-schema"))
    known = {"https://meta.json-schema.tools": of_schemas, "https://meta.json-schema.tools/": of_schemas}
    resources = [(url, DRAFT7.create_resource(each)) for url, each in known.items()]
    registry = referencing.Registry().with_resources(resources)
    found = jsonschema.Draft7Validator(meta, registry=registry).iter_errors(openrpc_document())
    assert [error.message for error in found] == []
    schemas = [
        *openrpc_document()["components"]["schemas"].values(),
        *(p["schema"] for m in _methods() for p in m["params"]),
    ]
    for each in schemas:
        jsonschema.Draft202012Validator.check_schema(each)


def test_each_method_says_all_of_itself() -> None:
    assert [method["name"] for method in _methods()] == list(METHODS)
    for method in _methods():
        name = method["name"]
        assert method["summary"].endswith("."), name
        assert method["paramStructure"] == "by-name"
        required = [param["required"] for param in method["params"]]
        assert required == sorted(required, reverse=True), f"{name}: a required parameter behind an optional one"
        assert all("_" not in param["name"] for param in method["params"])
        assert method["result"]["schema"], name
        assert len(method["examples"]) == 1, f"{name} has no example: `python -m tests.rpc.scenario`"


def test_each_reference_leads_somewhere_and_each_shape_is_used() -> None:
    components, used = openrpc_document()["components"], set(_references(openrpc_document()))
    there = {f"#/components/{kind}/{name}" for kind, each in components.items() for name in each}
    assert used - there == set()
    assert there - used == {"#/components/schemas/Event", "#/components/schemas/Health"} - used
    for name, schema in components["schemas"].items():
        assert (
            schema.get("description") or len(schema.get("properties", {})) or "enum" in schema or "oneOf" in schema
        ), name


def test_each_example_is_one() -> None:
    for method in _methods():
        example = method["examples"][0]
        given = {each["name"]: each["value"] for each in example["params"]}
        METHODS[method["name"]].params.model_validate(given)
        assert result_faults(method["name"], example["result"]["value"]) == [], method["name"]
        for param in method["params"]:
            if param["name"] in given:
                assert faults(param["schema"], given[param["name"]]) == [], (method["name"], param["name"])


def test_each_event_is_described() -> None:
    assert sorted(each["name"] for each in openrpc_document()["x-events"]) == sorted(get_args(EventType))


def test_every_answer_and_every_event_is_as_described(daemon: Daemon, project: SampleProject) -> None:
    scenario.prepare(project)
    daemon.configure(scenario.SETTINGS)
    daemon.run(project.root)
    wrong: dict[str, list[str]] = {}
    events: list[dict[str, Any]] = []
    with daemon.client() as client, client.subscribe() as listening:
        for method, _, answer in scenario.play(client.call, str(project.root)):
            if found := result_faults(method, answer):
                wrong[method] = found
        with pytest.raises(Exception, match="ended"):
            events.extend(listening)
    assert wrong == {}
    assert [each for event in events for each in event_faults(event)] == []
    assert {"session:updated", "session:compaction-start", "session:compaction-complete"} <= {e["type"] for e in events}


def _methods() -> list[dict[str, Any]]:
    return list(openrpc_document()["methods"])


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _references(each)
