"""Decides every claim of every `claims.toml` beside this file from the results that are stored there."""

import argparse
import json
import math
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

HOLDS, REFUTED, NOT_RUN = "holds", "refuted", "not run"
TEXT = ("name", "claim", "source", "why", "command", "result", "key", "verdict")
NUMBERS = ("number", "tolerance")


class MalformedError(Exception):
    """A `claims.toml`, or a result it points to, that cannot be read as one."""


class Decision(NamedTuple):
    """One claim and what its stored result says."""

    paper: str
    claim: dict[str, Any]
    value: float | None  # None when there is no result
    verdict: str

    @property
    def agrees(self) -> bool:
        """Whether the stored result gives the verdict that is stated."""
        return self.verdict == self.claim["verdict"]


def read_claims(path: Path) -> list[dict[str, Any]]:
    """The entries of one file, checked."""
    try:
        claims = tomllib.loads(path.read_text(encoding="utf-8"))["claim"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise MalformedError(f"{path}: no list of [[claim]] entries ({error})") from None
    for claim in claims:
        where = f"{path}: claim {claim.get('name', '?')!r}"
        for key in TEXT:
            if not isinstance(claim.get(key), str) or not claim[key]:
                raise MalformedError(f"{where}: {key} must be a text")
        for key in NUMBERS:
            if not isinstance(claim.get(key), int | float) or not math.isfinite(claim[key]):
                raise MalformedError(f"{where}: {key} must be a finite number")
        if claim["tolerance"] < 0:
            raise MalformedError(f"{where}: tolerance = {claim['tolerance']} must not be negative")
        if claim["verdict"] not in (HOLDS, REFUTED, NOT_RUN):
            raise MalformedError(
                f"{where}: verdict = {claim['verdict']!r} must be {HOLDS}, {REFUTED} or {NOT_RUN}"
            )
        if claim["verdict"] == REFUTED and not claim.get("finding"):
            raise MalformedError(f"{where}: refuted without a finding")
    names = [claim["name"] for claim in claims]
    if len(set(names)) < len(names):
        raise MalformedError(f"{path}: two claims of one name")
    return claims


def read_value(path: Path, key: str) -> float | None:
    """The number under the dotted ``key`` of a JSON file, or None when the file does not exist."""
    if not path.exists():
        return None
    try:
        node = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise MalformedError(f"{path}: no JSON ({error})") from None
    for part in key.split("."):
        if not isinstance(node, dict) or part not in node:
            raise MalformedError(f"{path}: no {key}")
        node = node[part]
    if isinstance(node, bool) or not isinstance(node, int | float):
        raise MalformedError(f"{path}: {key} is not a number")
    return float(node)


def decide(folder: Path, claim: dict[str, Any]) -> Decision:
    """The verdict that the stored result gives. A value that is not finite refutes."""
    value = read_value(folder / claim["result"], claim["key"])
    if value is None:
        verdict = NOT_RUN
    else:
        verdict = HOLDS if abs(value - claim["number"]) <= claim["tolerance"] else REFUTED
    return Decision(folder.name, claim, value, verdict)


def run_commands(folders: list[Path], root: Path) -> None:
    """Run each distinct command once; its output goes to stderr."""
    commands = dict.fromkeys(
        claim["command"] for folder in folders for claim in read_claims(folder / "claims.toml")
    )
    for command in commands:
        print(f"$ {command}", file=sys.stderr)
        program, *arguments = shlex.split(command)
        if program == "python":
            program = sys.executable
        if "FOLDER" in arguments:
            print(f"not run, as it needs data: {program} {' '.join(arguments)}", file=sys.stderr)
            continue
        subprocess.run([program, *arguments], cwd=root, check=True, stdout=sys.stderr)


def report(decisions: list[Decision]) -> None:
    """One line a claim, and the finding where it was refuted."""
    for decision in decisions:
        claim = decision.claim
        ours = "-" if decision.value is None else f"{decision.value:.4g}"
        mark = "ok  " if decision.agrees else "FAIL"
        stated = "" if decision.agrees else f" (stated: {claim['verdict']})"
        print(
            f"{mark} {decision.paper}/{claim['name']}: {decision.verdict}{stated}; "
            f"ours {ours}, claimed {claim['number']:g} +- {claim['tolerance']:g} [{claim['source']}]"
        )
        if decision.verdict == REFUTED and claim.get("finding"):
            print(f"     found: {claim['finding']}")


def main() -> int:
    """Exit status 0 when every claim has its stated verdict, 1 when not, 2 when a file is malformed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("papers", nargs="*", help="folders such as liu-2016; all of them unless given")
    parser.add_argument(
        "--root", type=Path, default=Path(__file__).resolve().parent, help="where the folders are"
    )
    parser.add_argument("--run", action="store_true", help="run the commands before deciding")
    arguments = parser.parse_args()
    found = [path.parent for path in sorted(arguments.root.glob("*/claims.toml"))]
    folders = [folder for folder in found if not arguments.papers or folder.name in arguments.papers]
    missing = set(arguments.papers) - {folder.name for folder in folders}
    try:
        if missing or not folders:
            raise MalformedError(
                f"{arguments.root}: no claims of {', '.join(sorted(missing)) or 'any paper'}"
            )
        if arguments.run:
            run_commands(folders, arguments.root.parent)
        decisions = [
            decide(folder, claim) for folder in folders for claim in read_claims(folder / "claims.toml")
        ]
    except MalformedError as error:
        print(error, file=sys.stderr)
        return 2
    report(decisions)
    return 0 if all(decision.agrees for decision in decisions) else 1


if __name__ == "__main__":
    sys.exit(main())
