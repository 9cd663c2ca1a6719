"""Measures the rows of the correctness table, and writes its page.

    python benchmarks/correctness/table.py               # all rows: half an hour on an idle core
    python benchmarks/correctness/table.py --only SGLD   # rows whose name holds the text; others are kept
    python benchmarks/correctness/table.py --missing     # rows that the JSON does not have yet
    python benchmarks/correctness/table.py --page        # the page alone, from the JSON

The rows are those of `tests/cases.py` and `tests/correctness/targets.py`, judged by the code that
`python -m pytest -m slow tests/correctness` runs.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from pathlib import Path

import jax

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests"), str(Path(__file__).parent)]
jax.config.update("jax_enable_x64", True)

from page import render  # noqa: E402

from correctness.table import judge, rows  # noqa: E402

OUT = ROOT / "docs" / "reference"


def machine():
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    return {
        "python": platform.python_version(),
        "jax": jax.__version__,
        "processor": platform.machine(),
        "commit": commit,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="folder of correctness.md and correctness.json")
    parser.add_argument("--only", default="", help="measure only the rows whose name holds this text")
    parser.add_argument(
        "--missing", action="store_true", help="measure only rows that the JSON does not have"
    )
    parser.add_argument("--page", action="store_true", help="measure nothing")
    options = parser.parse_args()
    path = options.out / "correctness.json"
    known = json.loads(path.read_text())["rows"] if path.exists() else {}
    table = rows()
    names = [row.name for row in table if not row.reason]
    known = {name: known[name] for name in names if name in known}
    chosen = [row for row in table if not row.reason and options.only in row.name]
    if options.missing:
        chosen = [row for row in chosen if row.name not in known]
    for i, row in enumerate([] if options.page else chosen):
        begun = time.perf_counter()
        verdicts = judge(row)
        known[row.name] = {"moments": [v._asdict() for v in verdicts], **machine()}
        failures = [f for v in verdicts for f in v.failures]
        print(
            f"{i + 1}/{len(chosen)} {row.name}: {'; '.join(failures) or 'holds'}"
            f" ({time.perf_counter() - begun:.0f} s)",
            file=sys.stderr,
            flush=True,
        )
        ordered = {name: known[name] for name in names if name in known}
        path.write_text(json.dumps({"rows": ordered}, indent=1) + "\n")
    peers = options.out / "peers.json"
    peers = json.loads(peers.read_text()) if peers.exists() else None
    (options.out / "correctness.md").write_text(render(table, known, peers))
    failing = [name for name in known if any(m["failures"] for m in known[name]["moments"])]
    print(json.dumps({"rows": len(known), "missing": len(names) - len(known), "failing": failing}))


if __name__ == "__main__":
    main()
