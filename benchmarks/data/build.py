"""A corpus of simulated JSON lines: the command, beside gensim's and scikit-learn's own code for the same.

    python benchmarks/data/build.py --json result.json [--documents 1000000] [--peer-python PYTHON]

Each is a process of its own from a cold start, one after the other: the command with as many processes as
there are cores, and with one; gensim's `Dictionary` in one pass, `filter_extremes` and a stream of `doc2bow`
into `MmCorpus`; scikit-learn's `CountVectorizer` on all texts, and `save_npz`. All have the same rules of
words. Times are whole, with start and writing; memory is that of all processes of one, sampled twenty times
a second.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

from measured import measured
from simulated import Language, write_jsonl

LENGTH = 60
SEED = 0

GENSIM = """
import json, re, sys
from gensim.corpora import Dictionary, MmCorpus
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
split = re.compile(r"(?u)\\b[^\\W\\d_]\\w+\\b").findall
def documents():
    with open(sys.argv[1], encoding="utf-8") as stream:
        for line in stream:
            yield [word for word in split(json.loads(line)["text"].lower()) if word not in ENGLISH_STOP_WORDS]
words = Dictionary(documents(), prune_at=None)
words.filter_extremes(no_below=5, no_above=0.5, keep_n=None)
MmCorpus.serialize(sys.argv[2], (words.doc2bow(document) for document in documents()))
words.save_as_text(sys.argv[2] + ".txt")
print(len(words))
"""
SKLEARN = """
import json, sys
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
vectorizer = CountVectorizer(
    token_pattern=r"(?u)\\b[^\\W\\d_]\\w+\\b", stop_words="english", min_df=5, max_df=0.5
)
with open(sys.argv[1], encoding="utf-8") as stream:
    counts = vectorizer.fit_transform(json.loads(line)["text"] for line in stream)
sp.save_npz(sys.argv[2], counts, compressed=False)
with open(sys.argv[2] + ".txt", "w") as stream:
    stream.write("\\n".join(vectorizer.get_feature_names_out()))
print(counts.shape[1])
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=28_000)
    parser.add_argument("--folder", type=pathlib.Path, help="of files that are kept; else they are not")
    parser.add_argument(
        "--peer-python", default=None, help="of gensim and scikit-learn; else they are left out"
    )
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = told.folder or pathlib.Path(scratch)
        file = folder / f"documents-{told.documents}-{told.words}.jsonl"
        if not file.exists():
            write_jsonl(file, Language(told.words, SEED), told.documents, LENGTH)
        corpus = [sys.executable, "-m", "geodrift.cli", "corpus", str(file), "--out"]
        commands = {
            "geodrift": [*corpus, f"{scratch}/all"],
            "geodrift, one process": [*corpus, f"{scratch}/one", "--workers", "1"],
        }
        if told.peer_python:
            commands["gensim"] = [told.peer_python, "-c", GENSIM, str(file), f"{scratch}/gensim.mm"]
            commands["scikit-learn"] = [told.peer_python, "-c", SKLEARN, str(file), f"{scratch}/sklearn.npz"]
        found = {}
        for name, command in commands.items():
            found[name] = measured(command)
            found[name]["documents_a_second"] = round(told.documents / found[name]["seconds"])
            print(name, found[name], file=sys.stderr)
        differences = subprocess.run(["diff", "-rq", f"{scratch}/all", f"{scratch}/one"], check=False)
        result = {
            "machine": f"{platform.processor() or platform.machine()}, {len(os.sched_getaffinity(0))} cores",
            "documents": told.documents,
            "words_a_document": LENGTH,
            "vocabulary": told.words,
            "bytes_of_text": file.stat().st_size,
            "same_bytes_for_any_number_of_processes": differences.returncode == 0,
            "found": found,
        }
    text = json.dumps(result, indent=1)
    if told.json:
        told.json.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
