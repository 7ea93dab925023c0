"""Every seam between rooms is a port: one a file, named for it, with a suite that runs on implementations."""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

import gossamer

SOURCE = Path(gossamer.__file__).parent
PORTS = sorted(path.stem for path in (SOURCE / "ports").glob("*.py") if path.stem != "__init__")

ELSEWHERE = {
    "frontier_admin": "frontier",
    "steered_frontier": "frontier",
    "worker_registry": "roster",
    "backends": "queries",
}
"""Ports that are proven together with another one, whose suite has another name."""
WITHOUT = {
    "clock", "duty", "exchange_hooks", "login_gate", "login_guide", "page_guide", "run_starter",
    "screenshot_store", "visit_watcher", "work_watcher", "worker_group",
}  # fmt: skip
"""Ports of the program itself, which nobody writes a back end for; their users' tests prove them."""
COMPOUND = {"job_frontier": {"AdminFrontier", "JobFrontier"}}
"""Files with more than one protocol: the sums of other ports."""


def protocols_in(path):
    """The names of the protocols that a file defines."""
    text = path.read_text("utf-8")
    tree = ast.parse(text if "Protocol" in text else "")
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {
        c.name
        for c in classes
        if any(isinstance(base, ast.Name) and base.id == "Protocol" for base in c.bases)
    }


@pytest.mark.parametrize("port", PORTS)
def test_a_port_is_one_protocol_in_a_file_of_its_name(port):
    found = protocols_in(SOURCE / "ports" / f"{port}.py")
    if port == "backends":  # of requests, of results, and what some of them offer besides
        assert {"FrontierBackend", "StoreBackend"} <= found
    else:
        assert found == COMPOUND.get(port, {port.title().replace("_", "")})


@pytest.mark.parametrize("port", PORTS)
def test_a_port_says_what_it_guarantees_and_what_each_method_does(port):
    tree = ast.parse((SOURCE / "ports" / f"{port}.py").read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            assert ast.get_docstring(node), f"{port}: {node.name}"


@pytest.mark.parametrize("port", [port for port in PORTS if port not in WITHOUT])
def test_a_port_has_a_suite_that_is_run(port):
    suite = f"gossamer.testing.contracts.{ELSEWHERE.get(port, port)}"
    assert find_spec(suite), f"there is no {suite}"
    tests = [path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py")]
    assert any(f"from {suite} import" in text for text in tests), f"no test runs {suite}"


def test_a_protocol_that_another_room_imports_is_a_port():
    """What only one room knows may stay there, and what ``testing`` offers to users is its own."""
    defined = {}
    for path in SOURCE.rglob("*.py"):
        module = ".".join(("gossamer", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
            ".__init__"
        )
        defined |= {(module, name): module.split(".")[1] for name in protocols_in(path)}
    assert len(defined) > 20
    modules = {f"from {module} import" for (module, _), room in defined.items() if room != "ports"}
    strangers = []
    for path in SOURCE.rglob("*.py"):
        room, text = path.relative_to(SOURCE).parts[0], path.read_text("utf-8")
        # To parse all files takes long, and few of them name such a module.
        for node in ast.walk(ast.parse(text if any(module in text for module in modules) else "")):
            if isinstance(node, ast.ImportFrom):
                for name in node.names:
                    home = defined.get((node.module, name.name), "ports")
                    if home not in (room, "ports", "testing"):
                        strangers.append(f"{path.relative_to(SOURCE)}: {node.module}.{name.name}")
    assert not strangers
