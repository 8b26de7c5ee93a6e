"""The files that tools outside of the package read: workflows, hooks, issue templates."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.skipif(not (ROOT / ".github").is_dir(), reason="a source distribution has no such files")


def read(name: str):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_workflow_runs_the_checks_on_the_oldest_python() -> None:
    steps = read(".github/workflows/tests.yml")["jobs"]["run"]["steps"]
    (script,) = [step["run"] for step in steps if "run" in step]
    assert os.access(ROOT / script, os.X_OK)
    (version,) = [step["with"]["python-version"] for step in steps if "with" in step]
    assert f'requires-python = ">={version}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_hooks_are_the_checks_of_contributing() -> None:
    hooks = {hook["id"]: hook for repo in read(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]}
    commands = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [*hooks] == ["ruff", "ruff-format", "mypy"]
    for hook in hooks.values():
        command = hook["entry"].removesuffix(" --force-exclude")
        assert f".venv/bin/{command}" in commands
    assert "ruff format src rules" in commands and hooks["ruff-format"]["files"] == "^(src|rules)/"


@pytest.mark.parametrize("name", ["bug_report", "feature_request"])
def test_an_issue_template_has_its_head(name: str) -> None:
    text = (ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.md").read_text(encoding="utf-8")
    head = yaml.safe_load(re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)[1])  # type: ignore[index]
    assert head.keys() == {"name", "about", "labels"} and all(head.values())
