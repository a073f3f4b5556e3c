"""Files are written whole or not at all."""

from pathlib import Path

import pytest

from draftproof.verify.report.files import write_whole


def test_a_file_is_written_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "report.md"
    write_whole(path, "déjà\n")
    assert path.read_bytes() == "déjà\n".encode()
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(path.parent.iterdir()) == [path]


def test_an_old_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    for text in ("long, the first", "second"):
        write_whole(path, text)
        assert path.read_text(encoding="utf-8") == text


def test_text_that_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "new, and then a lone surrogate \ud800")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()])
def test_a_failure_in_the_middle_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def replace(self: Path, target: Path) -> Path:
        raise error

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(type(error)):
        write_whole(tmp_path / "report.md", "text")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_a_file_is_an_os_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("mine", encoding="utf-8")
    for path in (blocked / "report.md", blocked / "folder" / "report.md"):
        with pytest.raises(OSError, match="file"):
            write_whole(path, "text")
    assert blocked.read_text(encoding="utf-8") == "mine"
    assert list(tmp_path.iterdir()) == [blocked]


def test_a_report_that_is_a_folder_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "report.md").mkdir()
    with pytest.raises(OSError, match="report"):
        write_whole(tmp_path / "report.md", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]
