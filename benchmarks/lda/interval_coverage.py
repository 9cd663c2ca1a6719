"""Coverage and width of LDA's 90% intervals on corpora drawn from the prior; one JSON object on stdout.

    python benchmarks/lda/interval_coverage.py [--corpora 20] [--json FILE]     # four minutes on an idle core

The code is that of `python -m pytest -m slow tests/models/test_lda_coverage.py`.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from models import lda_coverage  # noqa: E402

SETTINGS = (
    "NUM_TOPICS NUM_WORDS NUM_DOCUMENTS LENGTH DOC_TOPIC_PRIOR TOPIC_WORD_PRIOR NUM_DRAWS STEPS BATCH_SIZE "
    "COLLAPSED_SWEEPS COLLAPSED_BURN_IN COLLAPSED_THIN LEAST_MEAN"
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpora", type=int, default=20)
    parser.add_argument("--json", type=Path, help="file to keep the object in")
    options = parser.parse_args()
    started, corpora = time.perf_counter(), []
    for seed in range(options.corpora):
        corpora.append(lda_coverage.measure(seed))
        print(f"corpus {seed + 1} of {options.corpora}", file=sys.stderr)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    out = {
        "summary": lda_coverage.summarise(corpora),
        "settings": {name.lower(): getattr(lda_coverage, name) for name in SETTINGS.split()},
        "machine": {"python": platform.python_version(), "processor": platform.machine(), "commit": commit},
        "seconds": time.perf_counter() - started,
        "corpora": corpora,
    }
    text = json.dumps(out, indent=1)
    print(text)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
