"""JSON holds the names of files that are not UTF-8, and is read as it was written."""

from geodrift.files import read_json, read_sealed, write_json, write_sealed


def test_a_name_that_is_no_utf_8_can_be_written_and_read(tmp_path):
    """Corpora in a folder of such a name could not be fitted, and `choose-k` lost its answer in one."""
    told = {"path": "/data/b\udcfccher é 😀", "numbers": [1, 2.5]}
    write_json(tmp_path / "a.json", told)
    assert read_json(tmp_path / "a.json", "a test") == told
    assert "é 😀" in (tmp_path / "a.json").read_text("utf-8")
    write_sealed(tmp_path / "b.json", told)
    assert read_sealed(tmp_path / "b.json", "a test")["path"] == told["path"]
