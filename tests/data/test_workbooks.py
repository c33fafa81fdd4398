"""Workbooks: an Excel file made by hand, read as a table."""

import datetime
import sys
import zipfile

import numpy as np
import pytest

from sparsepath.data.readers import read_table
from sparsepath.errors import FileError, InputError

SCHEMAS = "http://schemas.openxmlformats.org"
MAIN = f"xmlns='{SCHEMAS}/spreadsheetml/2006/main'"
OFFICE = f"{SCHEMAS}/officeDocument/2006/relationships"
LINKS = f"<Relationships xmlns='{SCHEMAS}/package/2006/relationships'>{{}}</Relationships>"
LINK = f"<Relationship Id='{{}}' Type='{OFFICE}/{{}}' Target='{{}}'/>"
KINDS = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
SHEET = f"<worksheet {MAIN}><sheetData>{{}}</sheetData></worksheet>"
FILES = {
    "_rels/.rels": LINKS.format(LINK.format("a", "officeDocument", "xl/workbook.xml")),
    "xl/styles.xml": f"<styleSheet {MAIN}><cellXfs><xf/><xf numFmtId='14'/></cellXfs></styleSheet>",
    "[Content_Types].xml": f"<Types xmlns='{SCHEMAS}/package/2006/content-types'>"
    f"<Override PartName='/xl/workbook.xml' ContentType='{KINDS}'/></Types>",
}


def cell(value):
    if isinstance(value, bool):
        return f"<c t='b'><v>{int(value)}</v></c>"
    if isinstance(value, datetime.date):
        return f"<c s='1'><v>{(value - datetime.date(1899, 12, 30)).days}</v></c>"
    if isinstance(value, int | float):
        return f"<c><v>{value}</v></c>"
    return f"<c t='inlineStr'><is><t>{value}</t></is></c>" if value else "<c/>"


def workbook(path, **sheets):
    """Numbers, booleans and dates (style 1) as they are, all else text."""
    files, book, links = dict(FILES), "", LINK.format("s", "styles", "styles.xml")
    for i, (name, rows) in enumerate(sheets.items()):
        lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        files[f"xl/{i}.xml"] = SHEET.format(lines)
        book += f"<sheet name='{name}' sheetId='{i + 1}' r:id='r{i}'/>"
        links += LINK.format(f"r{i}", "worksheet", f"{i}.xml")
    book = f"<workbook {MAIN} xmlns:r='{OFFICE}'><sheets>{book}</sheets></workbook>"
    files |= {"xl/workbook.xml": book, "xl/_rels/workbook.xml.rels": LINKS.format(links)}
    with zipfile.ZipFile(path, "w") as pack:
        for name, text in files.items():
            pack.writestr(name, text)
    return path


def test_a_sheet_of_a_workbook(tmp_path):
    pytest.importorskip("python_calamine")
    day = datetime.date(2024, 2, 29)
    rows = [
        ["age", "town", "new", "sold", "y"],
        [3, "Bern", True, day, 1.5],
        ["NA", "Genf", False, "", 2],
        [],
    ]
    book = workbook(tmp_path / "cars.xlsx", cars=rows, empty=[])
    found = read_table(book, target="y", mixed=True)
    np.testing.assert_array_equal(found.y, [1.5, 2])
    age, town, new, sold = found.X.cells
    np.testing.assert_array_equal(age.values, [3, np.nan])
    assert (town.values.tolist(), new.values.tolist()) == (["Bern", "Genf"], [1, 0])
    assert (sold.kind, sold.texts()) == ("date", ["2024-02-29T00:00:00.000000", None])
    two = workbook(tmp_path / "two.xlsx", cars=rows, more=[["y", "a"], [1, 2], [3, 4]])
    with pytest.raises(
        InputError, match=r"several sheets, 'cars', 'more'; choose one with --sheet"
    ):
        read_table(two, target="y")
    assert read_table(two, target="y", sheet="more").X.tolist() == [[2], [4]]
    with pytest.raises(InputError, match=r"no sheet 'other'; it has 'cars', 'more'"):
        read_table(two, target="y", sheet="other")
    (tmp_path / "bad.xlsx").write_bytes(b"PK no workbook")
    with pytest.raises(FileError, match=r"cannot read .*bad\.xlsx as a workbook"):
        read_table(tmp_path / "bad.xlsx", target="y")


def test_without_the_package_a_workbook_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    (tmp_path / "cars.xlsx").write_bytes(b"PK")
    with pytest.raises(FileError, match=r"pip install 'sparsepath\[excel\]'.*give cars\.csv"):
        read_table(tmp_path / "cars.xlsx", target="y")
