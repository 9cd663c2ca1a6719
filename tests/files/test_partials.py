"""What killed processes leave is removed by the next that writes there; what others still write is not."""

import subprocess
import sys

import pytest

from geodrift.files import new_directory, write_file

BUILD = """
import sys, time
from pathlib import Path
from geodrift.files import new_directory
with new_directory(Path(sys.argv[1])) as folder:
    (folder / "large").write_bytes(bytes(1000))
    print("half way", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def builder(tmp_path):
    """A process that is half way through writing the directory ``out``."""
    process = subprocess.Popen(
        [sys.executable, "-c", BUILD, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "half way\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_live_writer_keeps_its_partial_and_a_killed_one_loses_it(tmp_path, builder):
    (partial,) = names(tmp_path)
    assert partial.startswith(f".out.partial-{builder.pid}-")
    write_file(tmp_path / "out", lambda stream: stream.write(b"another"), overwrite=True)
    with new_directory(tmp_path / "other"):
        pass
    assert names(tmp_path) == [partial, "other", "out"]
    (tmp_path / "out").unlink()
    builder.kill()
    builder.wait()
    with new_directory(tmp_path / "other2"):
        pass
    assert partial in names(tmp_path)  # of another name: not looked at
    with new_directory(tmp_path / "out") as folder:
        assert names(tmp_path) == [folder.name, "other", "other2"]
    assert names(tmp_path) == ["other", "other2", "out"]


def test_partials_of_files_and_of_earlier_versions_are_removed(tmp_path):
    (tmp_path / ".a.npz.partial-123").write_bytes(b"half")
    (tmp_path / ".a.npz.partial-99-abc").mkdir()
    (tmp_path / ".a.npz.partial-99-abc" / "inside").write_bytes(b"half")
    (tmp_path / ".a.npz.partial-link").symlink_to(tmp_path / "precious")
    (tmp_path / "precious").write_bytes(b"kept")
    (tmp_path / ".b.npz.partial-123").write_bytes(b"of another")
    write_file(tmp_path / "a.npz", lambda stream: stream.write(b"whole"))
    assert names(tmp_path) == [".a.npz.partial-link", ".b.npz.partial-123", "a.npz", "precious"]
    assert (tmp_path / "a.npz").read_bytes() == b"whole"


def test_a_failure_leaves_nothing(tmp_path):
    def fail(stream):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_file(tmp_path / "a", fail)
    with pytest.raises(KeyError), new_directory(tmp_path / "b"):
        raise KeyError
    assert names(tmp_path) == []
