"""What a million documents are made of: the command `geodrift transform`, its time and memory.

    python benchmarks/lda/transform.py --json result.json [--documents 1000000] [--topics 100]

Documents are simulated, and the run is made by the command on the first 20,000 of them: 4 chains of 25 draws.
Time is that of the whole command, from a cold start, of a corpus directory to Parquet and to .npy, of JSON
lines, and of a part of the documents with intervals.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "data"))
from measured import measured
from simulated import Language, write_jsonl

LENGTH, OF_THE_RUN, WITH_INTERVALS = 60, 20_000, 20_000
SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=28_000)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--steps", type=int, default=400, help="of the run")
    parser.add_argument("--only", default="", help="comma-separated: what is measured; else all")
    parser.add_argument("--folder", type=pathlib.Path, help="of files that are kept; else they are not")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder, out = told.folder or pathlib.Path(scratch), pathlib.Path(scratch)
        text, run, corpus = _made(folder, told)
        command = [sys.executable, "-m", "geodrift.cli", "transform", str(run)]
        some = folder / f"documents-{WITH_INTERVALS}-{told.words}.jsonl"
        commands = {
            "corpus to npy": [*command, str(corpus), "--out", str(out / "a.npy")],
            "corpus to parquet": [*command, str(corpus), "--out", str(out / "a.parquet")],
            "text to parquet": [*command, str(text), "--out", str(out / "b.parquet")],
            "intervals, some": [*command, str(some), "--intervals", "--out", str(out / "c.parquet")],
        }
        found = {}
        for name, words in commands.items():
            if told.only and name not in told.only.split(","):
                continue
            found[name] = measured(words)
            documents = WITH_INTERVALS if name == "intervals, some" else told.documents
            found[name] |= {"documents": documents, "microseconds": found[name]["seconds"] / documents * 1e6}
            print(name, found[name], file=sys.stderr)
        result = {"topics": told.topics, "vocabulary": told.words, "words_a_document": LENGTH, "found": found}
    shown = json.dumps(result, indent=1)
    if told.json:
        told.json.write_text(shown + "\n")
    print(shown)


def _made(folder: pathlib.Path, told: argparse.Namespace) -> tuple[pathlib.Path, ...]:
    """The text, a run, and a corpus of the run's vocabulary; made where they are not there yet."""
    text = folder / f"documents-{told.documents}-{told.words}.jsonl"
    some = folder / f"documents-{OF_THE_RUN}-{told.words}.jsonl"
    run, corpus = folder / f"run-{told.topics}-{told.words}", folder / f"corpus-{told.documents}-{told.words}"
    for file, number in ((text, told.documents), (some, OF_THE_RUN)):
        if not file.exists():
            write_jsonl(file, Language(told.words, SEED), number, LENGTH)
    geodrift = [sys.executable, "-m", "geodrift.cli"]
    if not run.exists():
        length = ["--topics", str(told.topics), "--steps", str(told.steps), "--min-df", "1"]
        subprocess.run([*geodrift, "fit", "lda", some, "--run", run, *length], check=True)
    if not corpus.exists():
        words = run / "vocabulary.txt"
        subprocess.run([*geodrift, "corpus", text, "--vocab", words, "--out", corpus], check=True)
    return text, run, corpus


if __name__ == "__main__":
    main()
