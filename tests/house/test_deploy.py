"""The files in deploy/: as far as can be seen without the machines that they are for."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import kubernetes_validate
import pytest
import typer
import yaml

from course_grader.cli import entry_point

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
CLUSTER = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")))


def commands():
    """Yield each ``course`` command line, by the file that it stands in."""
    for service in COMPOSE["services"].values():
        if "command" in service:
            yield "compose.yaml", service["command"]
    for resource in CLUSTER:
        for container in resource["spec"].get("template", {}).get("spec", {}).get("containers", []):
            yield "kubernetes.yaml", container["args"]
    for path in [*DEPLOY.glob("*.service"), DEPLOY / "worker.sbatch"]:
        line = re.search(r"^(?:ExecStart=|exec )\S*course .*$", path.read_text(encoding="utf-8"), re.MULTILINE)[0]
        words = shlex.split(line.removeprefix("ExecStart=").removeprefix("exec "))
        yield path.name, ["course", *(re.sub(r"^\$\{.*\}$", "1", word) for word in words[1:])]


@pytest.mark.parametrize(("file", "words"), [*commands()], ids=lambda each: each if isinstance(each, str) else each[1])
def test_each_command_is_one_that_course_has(file, words, monkeypatch):
    """With options that it knows, and whatever it requires."""
    monkeypatch.setenv("COURSE_DATABASE", "postgresql://course@database/course")
    _, name, *options = words
    command = typer.main.get_command(entry_point._build_app()).commands[name]
    assert command.make_context(name, list(options)).params


def test_the_image_has_all_that_a_package_is_made_of():
    """And what the image is installed by; nothing else that lies beside it, such as keys, comes along."""
    lines = (DEPLOY.parent / ".dockerignore").read_text(encoding="utf-8").splitlines()
    everything, allowed = lines[1], {line[1:] for line in lines if line.startswith("!")}
    package = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    assert everything == "*"
    included = {path.removeprefix("/") for path in package["targets"]["sdist"]["include"]}
    assert allowed == included | {"pyproject.toml", "requirements.lock"}


def test_the_cluster_takes_the_manifests():
    """By the schemas of Kubernetes, strictly; KEDA's own kind has none there."""
    kinds = [resource["kind"] for resource in CLUSTER]
    assert kinds.count("Deployment") == 2
    for resource in CLUSTER:
        if resource["kind"] != "ScaledObject":
            kubernetes_validate.validate(resource, "1.32", strict=True)


def test_services_depend_on_services_that_there_are():
    """And only the workers leave the usual walls, since they make their own."""
    services = COMPOSE["services"]
    assert {name for service in services.values() for name in service.get("depends_on", ())} <= services.keys()
    assert [name for name, service in services.items() if "security_opt" in service] == ["worker"]


def test_systemd_takes_the_units(tmp_path):
    """Where there is systemd: with paths of this machine in place of those of a server."""
    if not (verify := shutil.which("systemd-analyze")):
        pytest.skip("there is no systemd-analyze here")
    for path in DEPLOY.glob("*.service"):
        text = path.read_text(encoding="utf-8").replace("/srv/course/.venv/bin/course", f'"{sys.executable}"')
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    done = subprocess.run([verify, "verify", *tmp_path.glob("*.service")], capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if "course" in line]
    assert (done.returncode, said) == (0, [])


def test_the_operators_page_has_the_figures_that_were_measured():
    """Its table is that of the results."""
    page = (DEPLOY.parent / "docs" / "operating.md").read_text(encoding="utf-8")
    results = json.loads((DEPLOY.parent / "benchmarks" / "results" / "serve.json").read_text(encoding="utf-8"))
    for need in results["needs"]:
        scenario, *figures, _stored, behind = need.values()
        assert f"| {' | '.join(map(str, [scenario, *figures, behind]))} |" in page
