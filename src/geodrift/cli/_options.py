"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

_TEXT = "Text input"

RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")]
Input = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        help="A corpus directory; text: a directory or a .txt, .jsonl, .csv or .parquet file; or counts: "
        ".npz, .npy, docword.*.txt (UCI), .ldac (LDA-C), .mm (gensim, Matrix Market).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Vocab = Annotated[
    Path | None,
    typer.Option(
        "--vocab", help="Words of the columns of counts: one a line, or a gensim dictionary as text."
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=2**31 - 1, help="The same seed gives the same draws.")
]
Seconds = Annotated[float | None, typer.Option("--seconds", help="Time for the steps, from the first one.")]
Steps = Annotated[int | None, typer.Option("--steps", min=1, help="Number of steps, instead of a time.")]

TextField = Annotated[
    str,
    typer.Option(
        "--text-field", help="Field of JSONL, CSV or Parquet that holds the text.", rich_help_panel=_TEXT
    ),
]
Encoding = Annotated[str, typer.Option("--encoding", help="Encoding of text files.", rich_help_panel=_TEXT)]
MinDf = Annotated[
    str | None,
    typer.Option(
        "--min-df",
        help="Drop words in fewer documents: a count or a share. For text 5, or 2 below 500 documents.",
        rich_help_panel=_TEXT,
    ),
]
MaxDf = Annotated[
    str | None,
    typer.Option("--max-df", help="Drop words in more documents. For text 0.5.", rich_help_panel=_TEXT),
]
MaxWords = Annotated[
    int | None,
    typer.Option("--max-words", help="Keep the words in most documents, so many.", rich_help_panel=_TEXT),
]
StopWords = Annotated[
    str, typer.Option("--stop-words", help="english, none, or a file of words.", rich_help_panel=_TEXT)
]
Ngrams = Annotated[int, typer.Option("--ngrams", help="Longest sequence of words.", rich_help_panel=_TEXT)]
TokenPattern = Annotated[
    str | None, typer.Option("--token-pattern", help="Regular expression of a word.", rich_help_panel=_TEXT)
]
