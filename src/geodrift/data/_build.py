"""From text to counts: the text is split into words once, in as many processes as one likes."""

import tempfile
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from geodrift._errors import InputError
from geodrift.data._build_plan import begin, plan_of
from geodrift.data._build_steps import CountedPart, columns_of, count_part, left_over, words_of, write_block
from geodrift.data._corpus import Corpus
from geodrift.data._counts import check_vocabulary, refuse_empty
from geodrift.data._manifest import FREQUENCIES, VOCABULARY, Told, finish_directory
from geodrift.data._shards import ShardSet
from geodrift.data._sources import Source, parts_of
from geodrift.data._text import TextOptions
from geodrift.data._word_choice import Choice, choose_words, given_words, not_found
from geodrift.data._word_totals import WordTotals
from geodrift.data._workers import mapped, usable_cores
from geodrift.files import (
    new_directory,
    read_json,
    refuse_existing,
    scratch_directory,
    sync_directory,
    write_json,
)

Progress = Callable[[int, int, str], object]
NO_IDS = "values of 'id' that are neither text nor whole numbers"  # where they are counted in a manifest
_CHOSEN = "chosen.json"


def build_corpus(
    sources: Sequence[Source],
    options: TextOptions,
    path: str | Path | None = None,
    *,
    workers: int | None = 1,
    vocabulary: Sequence[str] | None = None,
    progress: Progress = lambda done, total, what: None,
) -> Corpus:
    """Make a corpus of text: in memory, or as a directory when `path` is given.

    The corpus is the same, to the byte, for any number of processes. A build of a directory that was killed
    goes on from what was done when it is begun again, as long as no source has changed.

    Args:
        sources: From `find_sources`.
        options: How text becomes words, and which words are kept.
        path: The directory to write, which must not exist. Memory is then bounded by a block of documents for
            each process, and the vocabulary.
        workers: Number of processes that read sources, of which large files of records are several. A script
            that asks for more than one needs ``if __name__ == "__main__"``, as with `multiprocessing`.
            None: one for each core, where there is enough text for their start to pay.
        vocabulary: The words to count, in their order; None: they are chosen.
        progress: Is told how many pieces are done, of how many, and what goes on.

    Raises:
        InputError: `sources` are not those of `find_sources`, `path` exists, text cannot be read, no word is
            left, or no document has a field that is to be kept. Nothing is written then.
        UserWarning: (a warning) Some words of the vocabulary are in no document.
    """
    corpus, missing = built(sources, options, path, workers, vocabulary, progress)
    if missing is not None:
        warnings.warn(missing, UserWarning, stacklevel=2)
    return corpus


def built(
    sources: Sequence[Source],
    options: TextOptions,
    path: str | Path | None,
    workers: int | None,
    vocabulary: Sequence[str] | None,
    progress: Progress,
) -> tuple[Corpus, str | None]:
    """See `build_corpus`; and what is to be said of words given that no document has."""
    if isinstance(sources, (str, Path)) or not all(isinstance(source, Source) for source in sources):
        raise InputError(f"sources = {sources!r:.80}: must be what find_sources([path, ...]) returns")
    words = None
    if vocabulary is not None:
        words = check_vocabulary([options.normal(str(word)) for word in vocabulary], len(vocabulary))
    if path is None:
        corpus = _in_memory(sources, options, workers, words, progress)
        return corpus, _missing(corpus, words, options)
    refuse_existing(Path(path))
    parts = [part for source in sources for part in parts_of(source)]
    plan = plan_of(parts, options, words)
    with new_directory(Path(path), goes_on=plan.fits) as folder:
        begin(plan, folder)
        _fill(folder, sources, parts, options, workers, words, progress)
    corpus = Corpus._written(Path(path))
    return corpus, _missing(corpus, words, options)


def _missing(corpus: Corpus, words: list[str] | None, options: TextOptions) -> str | None:
    return None if words is None else not_found(words, corpus.document_frequencies, options)


def _fill(
    folder: Path,
    sources: Sequence[Source],
    parts: Sequence[Source],
    options: TextOptions,
    workers: int | None,
    words: list[str] | None,
    progress: Progress,
    lasting: bool = True,
    may_be_empty: bool = False,
) -> None:
    """Write a corpus directory, or the rest of one."""
    most = min(usable_cores(), len(parts) // 2) if workers is None else workers
    with mapped(min(most, len(parts))) as each:
        counted = []
        step = partial(count_part, folder=folder, options=options, lasting=lasting)
        for part in each(step, list(enumerate(parts))):
            counted.append(part)
            progress(len(counted), len(parts), "splitting text")
        told = Told.joined(part.told for part in counted)
        if not may_be_empty:
            _check_fields(sources, told.fields)
        chosen = _chosen(folder, counted, options, words)
        if words is not None and not (may_be_empty or chosen.frequencies.any()):
            raise InputError(not_found(words, chosen.frequencies, options) or "the vocabulary has no words")
        blocks, written = [block for part in counted for block in part.blocks], []
        for shard in each(partial(write_block, folder=folder, lasting=lasting), blocks):
            written.append(shard)
            progress(len(written), len(blocks), "writing counts")
    columns_of.cache_clear()
    shards = [shard for block in written for shard in block.shards]
    tokens, empty = (
        sum(block.tokens for block in written),
        sum(block.empty_documents for block in written),
    )
    counts = sum(shard.nnz for shard in shards)
    refuse_empty(sum(part.documents for part in counted), len(chosen.words), max(counts, may_be_empty))
    made = {"from": "text", "options": options.to_dict(), "sources": len(sources)}
    made["text_field"] = sources[0].text_field
    whole = ShardSet(shards, chosen.frequencies, tokens, empty)
    dropped = chosen.dropped | ({NO_IDS: no_ids} if (no_ids := sum(part.no_ids for part in counted)) else {})
    finish_directory(folder, [whole], chosen.words, made, dropped, told)
    for file in left_over(folder):
        file.unlink()


def _chosen(
    folder: Path, counted: list[CountedPart], options: TextOptions, words: list[str] | None
) -> Choice:
    """The words that are kept; once they are chosen they stand in files."""
    mark = folder / _CHOSEN
    if mark.exists():
        dropped = read_json(mark, "a corpus directory that is being written")["dropped"]
        return Choice(
            list(columns_of(str(folder / VOCABULARY))),
            np.load(folder / FREQUENCIES, allow_pickle=False),
            dropped,
        )
    totals = WordTotals(folder)
    for part in counted:
        for block in part.blocks:
            totals.add(*words_of(folder, block))
    documents = sum(part.documents for part in counted)
    chosen = (
        choose_words(totals.in_order(), documents, options)
        if words is None
        else given_words(totals.in_order(), words)
    )
    refuse_empty(documents, len(chosen.words), 1)
    (folder / VOCABULARY).write_text("\n".join(chosen.words) + "\n", encoding="utf-8", newline="\n")
    np.save(folder / FREQUENCIES, chosen.frequencies)
    for file in (VOCABULARY, FREQUENCIES):
        sync_directory(folder / file)
    write_json(mark, {"dropped": chosen.dropped})
    return chosen


def _in_memory(
    sources: Sequence[Source],
    options: TextOptions,
    workers: int | None,
    words: list[str] | None,
    progress: Progress,
) -> Corpus:
    """A corpus in memory, by way of a directory that is gone afterwards."""
    parts = [part for source in sources for part in parts_of(source)]
    with scratch_directory(Path(tempfile.gettempdir()) / "geodrift-text") as folder:
        _fill(folder, sources, parts, options, workers, words, progress, lasting=False)
        corpus = Corpus._written(folder)
        made, dropped, table = corpus.manifest["made"], corpus.manifest["dropped"], corpus.documents
        return Corpus._from_checked(
            corpus.matrix(), corpus.vocabulary, None, made, dropped, table and table.in_memory()
        )


def count_into(
    folder: Path,
    sources: Sequence[Source],
    options: TextOptions,
    vocabulary: Sequence[str],
    *,
    workers: int | None = None,
    progress: Progress = lambda done, total, what: None,
) -> Corpus:
    """`count_documents` into an empty directory, by all cores and in bounded memory.

    Raises:
        InputError: Text cannot be read, or there are no documents.
    """
    words = check_vocabulary(vocabulary, len(vocabulary))
    parts = [part for source in sources for part in parts_of(source)]
    _fill(folder, sources, parts, options, workers, words, progress, lasting=False, may_be_empty=True)
    return Corpus._written(folder)


def _check_fields(sources: Sequence[Source], found: Sequence[str]) -> None:
    """Refuse fields to keep that no document has."""
    for field in sources[0].fields or () if sources else ():
        if field not in found:
            raise InputError(f"no document has a field {field!r} with a number, a date or text (--fields)")
