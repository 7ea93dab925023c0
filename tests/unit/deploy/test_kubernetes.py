"""``deploy/kubernetes``: what would be applied is valid, closed, and its parts find each other."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import kubernetes_validate
import pytest
import yaml

from gossamer.config.layers import load_settings
from gossamer.config.settings import setting_fields
from gossamer.core.shifts import EXTRACT_LANE
from kit.deploy_files import (
    DEPLOY,
    STOP_S,
    compose,
    image_environment,
    parses,
    stages,
)
from kit.deploy_files import GIVEN as TYPED
from kit.kustomize import Document, pods, render
from kit.metric_names import METRICS, find_metrics, wrong_labels

FOLDER = DEPLOY / "kubernetes"
OURS = {
    "gossamer-supervisor": "supervisor",
    "gossamer-worker": "worker",
    "gossamer-browser-worker": "worker",
    "gossamer-extractor": "worker",
    "gossamer-dashboard": "dashboard",
}
"""What runs Gossamer, and which command."""
GIVEN = {
    "GOSSAMER_FRONTIER__URL": "redis://:p@redis:6379/0",
    "GOSSAMER_STORE__URL": "postgresql://gossamer:p@postgres:5432/gossamer",
    "GOSSAMER_BROKER__URL": "amqp://gossamer:p@broker:5672//",
    "REDIS_PASSWORD": "p",
    "POSTGRES_PASSWORD": "p",
}
"""What a person puts into the secret."""
OLDEST, NEWEST = "1.29", "1.37"
"""The Kubernetes that the files are for."""


@cache
def overlay(name: str) -> list[Document]:
    """What an overlay makes of the base."""
    return render(FOLDER / "overlays" / name)


@pytest.fixture(params=sorted(path.name for path in FOLDER.glob("overlays/*")))
def documents(request: pytest.FixtureRequest) -> list[Document]:
    """Each of the overlays."""
    return overlay(request.param)


def find_all(documents: list[Document], kind: str) -> list[Document]:
    return [document for document in documents if document["kind"] == kind]


def container(documents: list[Document], name: str) -> Document:
    [one] = pods(documents)[name]["containers"]
    return one  # type: ignore[no-any-return]


def labels_of_pods(documents: list[Document]) -> dict[str, dict[str, str]]:
    return {
        document["metadata"]["name"]: document["spec"]["template"]["metadata"]["labels"]
        for document in documents
        if "template" in document.get("spec", {})
    }


def chosen_by(documents: list[Document], selector: Document) -> set[str]:
    """The names of what makes the pods that a selector chooses."""
    wanted = selector.get("matchLabels", {})
    others = {
        one["key"]: one["values"] for one in selector.get("matchExpressions", ()) if one["operator"] == "In"
    }
    assert wanted or others
    return {
        name
        for name, labels in labels_of_pods(documents).items()
        if all(labels.get(key) == value for key, value in wanted.items())
        and all(labels.get(key) in values for key, values in others.items())
    }


def ports_of(documents: list[Document], names: set[str]) -> set[str]:
    return {port["name"] for name in names for port in container(documents, name)["ports"]}


# --------------------------------------------------------------------------- valid


@pytest.mark.slow
def test_kubernetes_would_take_it(documents: list[Document]) -> None:
    for document in documents:
        if document["kind"] != "ScaledObject":
            kubernetes_validate.validate(document, NEWEST, strict=True)
    names = [(document["kind"], document["metadata"]["name"]) for document in documents]
    assert len(set(names)) == len(names)
    spaces = {
        document["metadata"].get("namespace") for document in documents if document["kind"] != "Namespace"
    }
    assert spaces == {find_all(documents, "Namespace")[0]["metadata"]["name"]}


@pytest.mark.slow
def test_an_older_kubernetes_would_take_it_too() -> None:
    for document in overlay("dev"):
        kubernetes_validate.validate(document, OLDEST, strict=True)


def test_the_validation_is_strict() -> None:
    [document] = find_all(overlay("small"), "Service")
    wrong = {**document, "spec": {**document["spec"], "selectors": {}}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, NEWEST, strict=True)


# --------------------------------------------------------------------------- what runs


def test_it_starts_commands_that_there_are(documents: list[Document]) -> None:
    started = {name: parses(container(documents, name)["args"]) for name in OURS}
    assert started == OURS
    for name in OURS:
        words = container(documents, name)["args"]
        [port] = container(documents, name)["ports"]
        option = "--port" if name == "gossamer-dashboard" else "--metrics-port"
        assert int(words[words.index(option) + 1]) == port["containerPort"]
    assert len({tuple(container(documents, name)["args"]) for name in OURS}) == len(OURS)


def test_it_sets_settings_that_there_are(documents: list[Document]) -> None:
    [data] = [one["data"] for one in find_all(documents, "ConfigMap")]
    for name in OURS:
        stage = "browser" if "browser" in name else "runtime"
        own = {one["name"]: one["value"] for one in container(documents, name).get("env", ())}
        secret = {key: value for key, value in GIVEN.items() if key.startswith("GOSSAMER_")}
        settings = load_settings(env={**image_environment(stage), **data, **secret, **own}).settings
        assert settings.cluster.lanes == ("http", "browser")
        mounted = {one["mountPath"]: one["name"] for one in container(documents, name)["volumeMounts"]}
        assert {settings.data, "/tmp"} <= set(mounted)
        assert (settings.browser.sandbox is False) == ("browser" in name)
        # Lists that a worker serves are among those of the fleet.
        words = container(documents, name)["args"]
        lanes = {*settings.cluster.lanes, EXTRACT_LANE}
        assert "--lanes" not in words or words[words.index("--lanes") + 1] in lanes


def test_it_waits_for_a_worker_to_drain(documents: list[Document]) -> None:
    assert all(pods(documents)[name]["terminationGracePeriodSeconds"] >= STOP_S for name in OURS)


def test_probes_ask_ports_that_there_are(documents: list[Document]) -> None:
    for name, command in OURS.items():
        one = container(documents, name)
        # One that waits for Redis lives, and must not be killed for that.
        waits = {"readinessProbe": "/healthz" if command == "dashboard" else "/readyz"}
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert one[probe]["httpGet"]["path"] == waits.get(probe, "/healthz")
            assert one[probe]["httpGet"]["port"] in ports_of(documents, {name})


def test_prometheus_finds_the_processes(documents: list[Document]) -> None:
    scraped = yaml.safe_load((DEPLOY / "prometheus/kubernetes.yml").read_text())["scrape_configs"]
    found: dict[str, set[str]] = {}
    for job in scraped:
        [keep] = [rule for rule in job["relabel_configs"] if rule.get("action") == "keep"]
        [part] = [
            rule["replacement"] for rule in job["relabel_configs"] if rule.get("target_label") == "part"
        ]
        for name in OURS:
            labels = labels_of_pods(documents)[name]
            [port] = ports_of(documents, {name})
            parts = (labels["app.kubernetes.io/name"], labels["app.kubernetes.io/component"], port)
            if re.fullmatch(keep["regex"], ";".join(parts)):
                found.setdefault(part, set()).add(name)
    assert found == {"fleet": {"gossamer-dashboard"}, "worker": set(OURS) - {"gossamer-dashboard"}}
    for document in find_all(documents, "Deployment"):
        name = document["metadata"]["name"]
        notes = document["spec"]["template"]["metadata"].get("annotations", {})
        if name == "gossamer-dashboard":  # it wants a token
            assert not notes
        else:
            [port] = container(documents, name)["ports"]
            assert notes["prometheus.io/port"] == str(port["containerPort"])


# --------------------------------------------------------------------------- closed


def test_pods_are_closed(documents: list[Document]) -> None:
    users = set()
    for name, pod in pods(documents).items():
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        if name in OURS:
            users.add(f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}")
            # GOSSAMER_DASHBOARD_PORT would be taken for a setting.
            assert pod["enableServiceLinks"] is False
        for one in pod["containers"]:
            context = one["securityContext"]
            assert context["readOnlyRootFilesystem"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            for kind in ("requests", "limits"):
                assert set(one["resources"][kind]) == {"cpu", "memory"}
            volumes = {volume["name"] for volume in pod.get("volumes", ())}
            assert all(set(volume) <= {"name", "emptyDir"} for volume in pod.get("volumes", ()))
            if name in OURS:
                assert {mount["name"] for mount in one["volumeMounts"]} == volumes
    assert users == {dict(stages()["runtime"])["USER"]}
    [space] = find_all(documents, "Namespace")
    assert space["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_no_secret_is_among_the_files(documents: list[Document]) -> None:
    assert not find_all(documents, "Secret")
    assert not re.search(r"://\w*:", yaml.safe_dump_all(documents))
    [source] = find_all(documents, "ConfigMap")
    for name, pod in pods(documents).items():
        for one in pod["containers"]:
            for given in one.get("envFrom", ()):
                if "secretRef" in given:
                    assert given["secretRef"]["name"] == "gossamer-servers"
                else:
                    assert given["configMapRef"]["name"] == source["metadata"]["name"]
            for variable in one.get("env", ()):
                assert "PASSWORD" not in variable["name"] or "value" not in variable
                if reference := variable.get("valueFrom"):
                    assert reference["secretKeyRef"]["name"] == "gossamer-servers"
                    assert reference["secretKeyRef"]["key"] in GIVEN
        if name in OURS:
            accounts = {account["metadata"]["name"] for account in find_all(documents, "ServiceAccount")}
            assert pod["serviceAccountName"] in accounts


def test_only_workers_reach_the_internet_and_none_reaches_the_cluster(documents: list[Document]) -> None:
    policies = find_all(documents, "NetworkPolicy")
    everything = {name for policy in policies for name in chosen_by(documents, policy["spec"]["podSelector"])}
    assert everything == set(pods(documents))
    for policy in policies:
        chosen = chosen_by(documents, policy["spec"]["podSelector"])
        for rule in policy["spec"].get("ingress", ()):
            assert rule["from"], "from everywhere"
            for port in rule["ports"]:
                assert port["port"] in ports_of(documents, chosen)
        for rule in policy["spec"].get("egress", ()):
            if "ports" not in rule:
                assert chosen == {"gossamer-worker", "gossamer-browser-worker"}
                hidden = {closed for way in rule["to"] for closed in way["ipBlock"]["except"]}
                assert {"10.0.0.0/8", "169.254.0.0/16", "127.0.0.0/8", "fc00::/7"} <= hidden


def test_pods_reach_brokers_over_tls_collectors_of_traces_and_buckets_of_the_cluster() -> None:
    """And buckets and collectors only where those run: any other address of the cluster stays closed."""
    [policy] = [
        one for one in find_all(overlay("small"), "NetworkPolicy") if one["metadata"]["name"].endswith("-all")
    ]
    ways = {
        port["port"]: [place["namespaceSelector"]["matchLabels"] for place in rule.get("to", ())]
        for rule in policy["spec"]["egress"]
        for port in rule["ports"]
    }
    label = "kubernetes.io/metadata.name"
    assert ways[5671] == ways[5672] == []
    assert ways[4317] == ways[4318] == [{label: "monitoring"}]
    assert ways[9000] == ways[443] == [{label: "storage"}]


def test_redis_refuses_before_its_pod_has_no_memory_left() -> None:
    redis = container(overlay("dev"), "redis")
    assert "maxmemory $MAXMEMORY\n" in redis["command"][-1]
    [limit] = [one["value"] for one in redis["env"] if one["name"] == "MAXMEMORY"]
    assert redis["resources"]["limits"]["memory"] == "512Mi"
    assert int(limit.removesuffix("mb")) <= 512 * 3 / 4


# --------------------------------------------------------------------------- its parts find each other


def test_selectors_choose_what_they_shall(documents: list[Document]) -> None:
    for kind in ("Deployment", "StatefulSet"):
        for document in find_all(documents, kind):
            name, spec = document["metadata"]["name"], document["spec"]
            assert chosen_by(documents, spec["selector"]) == {name}
            for spread in spec["template"]["spec"].get("topologySpreadConstraints", ()):
                assert chosen_by(documents, spread["labelSelector"]) == {name}
            if kind == "StatefulSet":
                assert spec["serviceName"] in {
                    one["metadata"]["name"] for one in find_all(documents, "Service")
                }
    for service in find_all(documents, "Service"):
        chosen = chosen_by(documents, {"matchLabels": service["spec"]["selector"]})
        assert chosen == {service["metadata"]["name"]}
        for port in service["spec"]["ports"]:
            assert port["targetPort"] in ports_of(documents, chosen)
    budgets = find_all(documents, "PodDisruptionBudget")
    assert {one["metadata"]["name"] for one in budgets} == set(OURS)
    for budget in budgets:
        assert chosen_by(documents, budget["spec"]["selector"]) == {budget["metadata"]["name"]}


def test_images_are_those_of_the_dockerfile_or_named_once(documents: list[Document]) -> None:
    of_browser = {container(documents, "gossamer-browser-worker")["image"]}
    of_others = {container(documents, name)["image"] for name in OURS if "browser" not in name}
    assert len(of_browser | of_others) == 2
    # An image that is on the machine only (kind, minikube) would be asked for in vain.
    assert {container(documents, name)["imagePullPolicy"] for name in OURS} == {"IfNotPresent"}


def test_production_scales_by_what_may_start_now() -> None:
    documents = overlay("production")
    scaled = find_all(documents, "ScaledObject")
    assert {one["spec"]["scaleTargetRef"]["name"] for one in scaled} == {
        name for name, command in OURS.items() if command == "worker"
    }
    for one in scaled:
        spec, name = one["spec"], one["spec"]["scaleTargetRef"]["name"]
        [target] = [found for found in find_all(documents, "Deployment") if found["metadata"]["name"] == name]
        assert "replicas" not in target["spec"], "each apply would put them back"
        assert set(spec) <= SCALED_OBJECT
        assert spec["minReplicaCount"] < spec["fallback"]["replicas"] < spec["maxReplicaCount"]
        behaviour = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
        assert behaviour["scaleDown"]["stabilizationWindowSeconds"] >= 300
        as_autoscaler = {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": name},
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": name},
                "maxReplicas": spec["maxReplicaCount"],
                "behavior": behaviour,
            },
        }
        kubernetes_validate.validate(as_autoscaler, NEWEST, strict=True)
        [trigger] = spec["triggers"]
        assert trigger["type"] == "prometheus"
        assert all(isinstance(value, str) for value in trigger["metadata"].values())
        assert set(trigger["metadata"]) <= TRIGGER
        query = trigger["metadata"]["query"]
        assert not wrong_labels(query, METRICS)
        assert "gossamer_frontier_due_requests" in {asked.name for asked in find_metrics(query)}
        words = container(documents, name)["args"]
        assert set(re.findall(r'lane="(\w+)"', query)) == {words[words.index("--lanes") + 1]}
        assert set(re.findall(r'fleet="(\w+)"', query)) == {one["metadata"]["namespace"]}


SCALED_OBJECT = {
    "scaleTargetRef",
    "minReplicaCount",
    "maxReplicaCount",
    "pollingInterval",
    "cooldownPeriod",
    "fallback",
    "advanced",
    "triggers",
}
TRIGGER = {"serverAddress", "query", "threshold", "activationThreshold", "ignoreNullValues"}


def test_the_servers_for_trying_are_those_of_compose() -> None:
    services = compose(TYPED)["services"]
    for name in ("redis", "postgres"):
        one = container(overlay("dev"), name)
        assert one["image"] == services[name]["image"]
        assert one.get("command") == services[name].get("command")
        variables = {variable["name"] for variable in one["env"]}
        assert set(services[name]["environment"]) <= variables
        [port] = one["ports"]
        url = {"redis": GIVEN["GOSSAMER_FRONTIER__URL"], "postgres": GIVEN["GOSSAMER_STORE__URL"]}[name]
        assert f"@{name}:{port['containerPort']}/" in url


def test_the_secret_names_settings_that_there_are() -> None:
    for name in GIVEN:
        if name.startswith("GOSSAMER_"):
            assert name.removeprefix("GOSSAMER_").lower().replace("__", ".") in setting_fields()


def test_every_file_is_in_use() -> None:
    used: set[str] = set()
    for path in FOLDER.rglob("kustomization.yaml"):
        rules: dict[str, Any] = yaml.safe_load(path.read_text())
        names = [*rules["resources"], *(patch["path"] for patch in rules.get("patches", ()))]
        used |= {str((path.parent / name).resolve()) for name in names}
    files = {str(path) for path in FOLDER.rglob("*.yaml") if path.name != "kustomization.yaml"}
    assert files <= used
