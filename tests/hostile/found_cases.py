"""Cases that once went wrong, kept as files: a folder each, with the input and the words of the command."""

from pathlib import Path

from input_cases import Case

FOUND = Path(__file__).with_name("found")
_COMMAND = "command.txt"  # one word a line


def keep(case: Case, folder: Path) -> None:
    """Write a case as a folder."""
    for name, content in case.files.items():
        (folder / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "in" / name).write_bytes(content)
    (folder / _COMMAND).write_bytes("\n".join(case.arguments).encode("utf-8", "surrogateescape"))


def kept(folder: Path) -> Case:
    """The case of a folder."""
    files = {
        str(path.relative_to(folder / "in")): path.read_bytes()
        for path in sorted((folder / "in").rglob("*"))
        if path.is_file()
    }
    words = (folder / _COMMAND).read_bytes().decode("utf-8", "surrogateescape")
    return Case(files, tuple(words.split("\n")))
