"""Large inputs: files in parts, builds in processes, more words than fit into memory, kills, stores."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest

from geodrift.data import Corpus, InputError, TextOptions, build_corpus, find_sources
from geodrift.data._sources import parts_of, read_identified
from geodrift.data._word_choice import choose_words
from geodrift.data._word_totals import WordTotals
from geodrift.data._workers import mapped

OPTIONS = TextOptions(min_df=2, max_df=0.9)
WORDS = [a + b + c for a in "bcd" for b in "aeiou" for c in "lmnrs"] + ["sphère", "Kreis", "日本語"]


def texts(number, seed=0):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randrange(12))) for _ in range(number)]


def write_jsonl(path, number=400):
    lines = [
        json.dumps({"text": text, "n": place}, ensure_ascii=False) for place, text in enumerate(texts(number))
    ]
    lines[7] += "\r\n"  # a line break and a blank line
    path.write_bytes(b"\xef\xbb\xbf" + ("\n".join(lines) + "\n").encode())
    return path


def write_csv(path, number=400):
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["n", "text"])
        for place, text in enumerate(texts(number)):
            # Line breaks inside of a field, bare quotes, and what looks like the start of another record.
            writer.writerow([place, f'{text}\n1,"{place}" inch'] if place % 3 else [place, text])
    return path


def write_parquet(path, number=400):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pa.table({"n": list(range(number)), "text": texts(number)})
    pq.write_table(table, path, row_group_size=150, compression="NONE", use_dictionary=False)
    return path


WRITERS = {"a.jsonl": write_jsonl, "a.csv": write_csv, "a.parquet": write_parquet}


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of two kilobytes."""
    for module in ("_spans", "_sources"):
        monkeypatch.setattr(f"geodrift.data.{module}.BYTES_A_PART", 2000)


def contents(folder):
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def test_processes_that_end_early_say_what_may_be_wrong():
    """A script without the guard was told of memory alone."""
    with mapped(2) as each:
        for _ in range(2):  # while they work, and when there are none
            with pytest.raises(RuntimeError, match="needs if __name__ == '__main__'"):
                list(each(os._exit, [1] * 4))


@pytest.mark.parametrize("name", WRITERS)
def test_parts_have_the_records_of_the_file(tmp_path, small_parts, name):
    (source,) = find_sources([WRITERS[name](tmp_path / name)])
    parts = parts_of(source)
    assert len(parts) > 4
    whole = list(read_identified(source))
    assert len(whole) == 400
    assert [found for part in parts for found in read_identified(part)] == whole  # their numbers too


def test_a_wrong_line_has_its_number_in_every_part(tmp_path, small_parts):
    path = write_jsonl(tmp_path / "a.jsonl")
    path.write_bytes(path.read_bytes() + b'{"n": 1}\n')
    last = path.read_bytes().count(b"\n")
    with pytest.raises(InputError, match=f"line {last}: no field 'text'"):
        build_corpus(find_sources([path]), OPTIONS)
    path = write_csv(tmp_path / "a.csv")
    lines = path.read_bytes().count(b"\n")
    path.write_bytes(path.read_bytes() + b"1,two,three\n")
    with pytest.raises(InputError, match=f"line {lines + 1}: has 3 fields"):
        build_corpus(find_sources([path]), OPTIONS)


def test_an_encoding_in_which_bytes_are_no_letters_is_not_cut(tmp_path, small_parts):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts(400)), encoding="utf-16")
    (source,) = find_sources([path], encoding="utf-16")
    assert parts_of(source) == [source]
    assert build_corpus([source], OPTIONS).num_documents == 400


@pytest.mark.parametrize(
    "name", ["a.jsonl", *(pytest.param(name, marks=pytest.mark.slow) for name in ("a.csv", "a.parquet"))]
)
def test_the_corpus_is_the_same_bytes_for_any_number_of_processes(tmp_path, small_parts, name):
    sources = find_sources([WRITERS[name](tmp_path / name)])
    one = build_corpus(sources, OPTIONS, tmp_path / "one")
    two = build_corpus(sources, OPTIONS, tmp_path / "two", workers=2)
    two.verify()
    assert contents(one.path) == contents(two.path)
    assert len(one.manifest["shards"]) > 4


@pytest.mark.parametrize("name", WRITERS)
def test_a_directory_and_memory_hold_the_same(tmp_path, small_parts, name):
    sources = find_sources([WRITERS[name](tmp_path / name)])
    one, memory = build_corpus(sources, OPTIONS, tmp_path / "one"), build_corpus(sources, OPTIONS)
    assert memory.vocabulary == one.vocabulary
    assert np.array_equal(memory.matrix().toarray(), one.matrix().toarray())
    assert list(memory.documents) == list(one.documents)
    assert np.array_equal(one.document_frequencies, (one.matrix().toarray() > 0).sum(axis=0))


KILLED = """
import sys
from pathlib import Path
import geodrift.data._build_steps as steps
import geodrift.data._spans as spans, geodrift.data._sources as sources
from geodrift.data import TextOptions, build_corpus, find_sources
spans.BYTES_A_PART = sources.BYTES_A_PART = 2000
left = int(sys.argv[3])
def counted(write):
    def f(*args, **named):
        global left
        if left == 0:
            print("here", flush=True)
            import time
            time.sleep(60)
        left -= 1
        return write(*args, **named)
    return f
import numpy, geodrift.data._build as build
numpy.save, steps.write_json = counted(numpy.save), counted(steps.write_json)
build.write_json, build.finish_directory = counted(build.write_json), counted(build.finish_directory)
build_corpus(find_sources([sys.argv[1]]), TextOptions(min_df=2, max_df=0.9), Path(sys.argv[2]))
print("done", flush=True)
"""


def killed(jsonl, out, at):
    """Kill a build before its file of that number; whether it came so far."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", KILLED, str(jsonl), str(out), str(at)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    said = process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert said in ("here\n", "done\n"), said
    return said == "here\n"


@pytest.mark.slow
def test_a_build_killed_anywhere_goes_on_to_the_same_bytes(tmp_path, small_parts):
    jsonl = write_jsonl(tmp_path / "a.jsonl")
    expected = contents(build_corpus(find_sources([jsonl]), OPTIONS, tmp_path / "whole").path)
    at = 0
    while killed(jsonl, tmp_path / "out", at):
        assert not (tmp_path / "out").exists()
        left = list(tmp_path.glob(".out.partial-*"))
        assert len(left) == 1
        assert contents(build_corpus(find_sources([jsonl]), OPTIONS, tmp_path / "out").path) == expected
        assert not list(tmp_path.glob(".out.*"))
        (tmp_path / "out").rename(tmp_path / f"done-{at}")
        at += 11
    assert at > 60


def interrupted(monkeypatch, name, calls):
    """A step fails as a killed process ends: nothing is removed."""
    from contextlib import nullcontext

    import geodrift.data._build as build
    import geodrift.files._atomic as atomic

    monkeypatch.setattr(atomic, "unfinished", lambda temporary: nullcontext())
    step, seen = getattr(build, name), []

    def counted(*args, **named):
        seen.append(args)
        if len(seen) > calls:
            raise KeyboardInterrupt
        return step(*args, **named)

    monkeypatch.setattr(build, name, counted)


@pytest.mark.parametrize("name", ["count_part", "write_block"])
def test_what_is_done_is_not_done_again(tmp_path, small_parts, monkeypatch, name):
    """After a kill only the parts that were not finished are read: the others' text has gone by."""
    jsonl = write_jsonl(tmp_path / "a.jsonl")
    sources = find_sources([jsonl])
    expected = contents(build_corpus(sources, OPTIONS, tmp_path / "whole").path)
    with monkeypatch.context() as patched:
        interrupted(patched, name, 3)
        with pytest.raises(KeyboardInterrupt):
            build_corpus(sources, OPTIONS, tmp_path / "out")
    read = []
    with monkeypatch.context() as patched:
        whole = read_identified

        def noted(source, no_id):
            read.append(source.span.start)
            return whole(source, no_id)

        patched.setattr("geodrift.data._build_steps.read_identified", noted)
        resumed = build_corpus(sources, OPTIONS, tmp_path / "out")
    parts = len(parts_of(sources[0]))
    assert len(read) == (parts - 3 if name == "count_part" else 0)
    assert contents(resumed.path) == expected


@pytest.mark.parametrize("change", ["source", "options"])
def test_another_build_begins_anew(tmp_path, small_parts, monkeypatch, change):
    jsonl = write_jsonl(tmp_path / "a.jsonl")
    with monkeypatch.context() as patched:
        interrupted(patched, "write_block", 2)
        with pytest.raises(KeyboardInterrupt):
            build_corpus(find_sources([jsonl]), OPTIONS, tmp_path / "out")
    options = OPTIONS
    if change == "source":
        jsonl.write_bytes(jsonl.read_bytes().replace(b"bal", b"zzz"))
        os.utime(jsonl, ns=(1, time.time_ns() + 10**9))
    else:
        options = TextOptions(min_df=3, max_df=0.9)
    made = build_corpus(find_sources([jsonl]), options, tmp_path / "out")
    assert contents(made.path) == contents(build_corpus(find_sources([jsonl]), options, tmp_path / "b").path)
    assert not list(tmp_path.glob(".out.*"))


def test_totals_of_words_are_those_of_a_counter_when_memory_is_short(tmp_path, monkeypatch):
    monkeypatch.setattr("geodrift.data._word_totals._MOST_WORDS", 20)
    monkeypatch.setattr("geodrift.data._word_totals._MOST_RUNS", 4)
    rng, expected, totals = random.Random(1), Counter(), WordTotals(tmp_path)
    odd = ["line\nbreak", "half \ud800", "\u2028"]
    most = 0
    for _ in range(60):
        words = rng.sample([*WORDS, *odd], 15)
        numbers = np.array([rng.randrange(1, 9) for _ in words])
        expected.update(dict(zip(words, numbers.tolist(), strict=True)))
        totals.add(words, numbers)
        most = max(most, len(totals._totals))
    assert most <= 20
    assert len(list(tmp_path.iterdir())) > 1
    assert list(totals.in_order()) == sorted(expected.items())
    assert not list(tmp_path.iterdir())


def test_the_most_frequent_words_are_found_without_all_of_them():
    rng = random.Random(3)
    numbers = {f"w{place:05d}": rng.randrange(1, 50) for place in range(5000)}
    options = TextOptions(min_df=2, max_df=1.0, max_words=100)
    words, frequencies, dropped = choose_words(iter(sorted(numbers.items())), 60, options)
    expected = sorted((w for w in numbers if numbers[w] >= 2), key=lambda w: (-numbers[w], w))[:100]
    assert words == sorted(expected)
    assert frequencies.tolist() == [numbers[word] for word in words]
    assert len(words) + sum(dropped.values()) == 5000


@pytest.fixture
def store():
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    yield memory
    memory.store.clear()


@pytest.mark.parametrize("name", WRITERS)
def test_a_store_gives_what_a_file_gives(tmp_path, small_parts, store, name):
    path = WRITERS[name](tmp_path / name)
    expected = build_corpus(find_sources([path]), OPTIONS)
    store.pipe(f"/bucket/{name}", path.read_bytes())
    for url in (f"memory://bucket/{name}", path.as_uri()):
        found = build_corpus(find_sources([url]), OPTIONS)
        assert np.array_equal(found.matrix().toarray(), expected.matrix().toarray())
        assert list(found.documents) == list(expected.documents)


def test_a_folder_of_a_store_is_a_directory(tmp_path, store):
    files = {"a/0.txt": b"sphere circle", "a/deep/1.txt": b"sphere", "a/.hidden": b"hidden", "b.txt": b"no"}
    files["a/none.txt"] = b""  # a document without words
    for name, content in files.items():
        store.pipe(f"/bucket/{name}", content)
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    options = TextOptions(min_df=1, max_df=1.0)
    expected = build_corpus(find_sources([tmp_path / "a"]), options)
    for url in ("memory://bucket/a", "memory://bucket/a/", (tmp_path / "a").as_uri()):
        found = build_corpus(find_sources([url]), options)
        assert found.vocabulary == ["circle", "sphere"]
        assert list(found.documents) == list(expected.documents)
    both = build_corpus(find_sources(["memory://bucket/a", "memory://bucket/b.txt"]), options)
    assert [document.id for document in both.documents] == ["a/0.txt", "a/deep/1.txt", "a/none.txt", "b.txt"]


def test_what_is_wrong_with_a_store_is_said_in_one_line(store):
    store.pipe("/bucket/empty.jsonl", b"")
    for url, why in [
        ("memory://bucket/none.jsonl", "does not exist"),
        ("memory://bucket/empty.jsonl", "is empty"),
        ("nosuch://bucket/a.jsonl", "cannot be read: Protocol not known"),
    ]:
        with pytest.raises(InputError, match=f"{url} {why}"):
            find_sources([url])


def test_a_url_of_unknown_size_is_not_taken_for_an_empty_file(store, monkeypatch):
    store.pipe("/bucket/a.txt", b"sphere circle")
    info = type(store).info
    monkeypatch.setattr(type(store), "info", lambda self, path: info(self, path) | {"size": None})
    with pytest.raises(InputError, match=r"memory://bucket/a\.txt has a store that does not tell its size"):
        find_sources(["memory://bucket/a.txt"])
    with pytest.raises(InputError, match=r"memory:///?bucket/a\.txt has a store that does not tell its size"):
        build_corpus(find_sources(["memory://bucket"]), OPTIONS)  # it was a document without words


def test_without_fsspec_a_url_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InputError, match=r"needs fsspec: python -m pip install 'geodrift\[stores\]'"):
        find_sources(["s3://bucket/a.jsonl"])


def test_a_directory_that_is_not_finished_is_no_corpus(tmp_path, small_parts, monkeypatch):
    jsonl = write_jsonl(tmp_path / "a.jsonl")
    with monkeypatch.context() as patched:
        interrupted(patched, "finish_directory", 0)
        with pytest.raises(KeyboardInterrupt):
            build_corpus(find_sources([jsonl]), OPTIONS, tmp_path / "out")
    (left,) = tmp_path.glob(".out.partial-*")
    with pytest.raises(InputError, match=r"it has no manifest.json"):
        Corpus.open(left)
