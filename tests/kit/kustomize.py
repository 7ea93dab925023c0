"""The objects that ``kubectl apply -k`` would apply: kustomizations, as far as ``deploy/kubernetes`` uses
them.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

Document = dict[str, Any]
_CLUSTER_WIDE = {"Namespace"}


def render(folder: Path) -> list[Document]:
    """The documents of a kustomization, changed as it says. It says nothing that is not known here."""
    rules = yaml.safe_load((folder / "kustomization.yaml").read_text())
    kind = {"apiVersion": rules.pop("apiVersion"), "kind": rules.pop("kind")}
    assert kind == {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    documents = [document for name in rules.pop("resources") for document in _read(folder / name)]
    for key, value in sorted(rules.items(), key=lambda rule: list(_STEPS).index(rule[0])):
        for one in value if isinstance(value, list) else [value]:
            _STEPS[key](documents, one, folder)
    return documents


def pods(documents: list[Document]) -> dict[str, Document]:
    """The specifications of the pods of everything that makes pods, by its name."""
    return {
        document["metadata"]["name"]: document["spec"]["template"]["spec"]
        for document in documents
        if "template" in document.get("spec", {})
    }


def _read(path: Path) -> Iterator[Document]:
    yield from render(path) if path.is_dir() else yaml.safe_load_all(path.read_text())


def _patch(documents: list[Document], rule: Document, folder: Path) -> None:
    changes = yaml.safe_load((folder / rule["path"]).read_text())
    target = rule["target"]
    chosen = [
        at
        for at, document in enumerate(documents)
        if document["kind"] == target["kind"] and re.fullmatch(target["name"], document["metadata"]["name"])
    ]
    assert chosen, f"{rule} changes nothing"
    for at in chosen:
        name = documents[at]["metadata"]["name"]
        documents[at] = _merge(documents[at], changes)
        documents[at]["metadata"]["name"] = name


def _merge(old: Any, new: Any) -> Any:
    """Return a strategic merge: tables by key, lists of named entries by name, other values replaced."""
    if isinstance(old, dict) and isinstance(new, dict):
        merged = {key: _merge(old.get(key), value) for key, value in new.items()}
        return {key: value for key, value in {**old, **merged}.items() if value is not None}
    if _has_names(old) and _has_names(new):
        changes = {one["name"]: one for one in new}
        kept = [_merge(one, changes.pop(one["name"], {})) for one in old]
        return [*changes.values(), *kept]
    return copy.deepcopy(new)


def _has_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) and "name" in one for one in value)


def _set_namespace(documents: list[Document], name: str, folder: Path) -> None:
    for document in documents:
        if document["kind"] not in _CLUSTER_WIDE:
            document["metadata"]["namespace"] = name


def _set_labels(documents: list[Document], rule: Document, folder: Path) -> None:
    assert set(rule) == {"pairs", "includeTemplates"}
    for document in documents:
        places = [
            document,
            *([document["spec"]["template"]] if "template" in document.get("spec", {}) else []),
        ]
        for place in places:
            metadata = place["metadata"]
            metadata["labels"] = {**metadata.get("labels", {}), **rule["pairs"]}


def _set_replicas(documents: list[Document], rule: Document, folder: Path) -> None:
    [document] = [
        one for one in documents if one["kind"] == "Deployment" and one["metadata"]["name"] == rule["name"]
    ]
    document["spec"]["replicas"] = rule["count"]


def _set_image(documents: list[Document], rule: Document, folder: Path) -> None:
    count = 0
    for pod in pods(documents).values():
        for container in pod["containers"]:
            name, _, tag = container["image"].partition(":")
            if name == rule["name"]:
                container["image"] = f"{rule.get('newName', name)}:{rule.get('newTag', tag)}"
                count += 1
    assert count, f"{rule} changes nothing"


_STEPS: dict[str, Callable[[list[Document], Any, Path], None]] = {
    "patches": _patch,
    "namespace": _set_namespace,
    "labels": _set_labels,
    "images": _set_image,
    "replicas": _set_replicas,
}
"""The supported fields of a kustomization, in the order of their application."""
