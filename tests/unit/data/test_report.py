from regard.data.corpora.report import Report, shorten


def test_the_table_lists_each_reason_with_its_share_and_examples():
    report = Report(title="cleaning")
    for _ in range(1996):
        report.keep()
    report.drop("empty", place="a.tsv, line 7", text="Hund")
    for line in (9, 11, 13):
        report.drop("columns", place=f"a.tsv, line {line}", text="x" * 100)
    assert report.total == 2000
    assert str(report).split("\n") == [
        "cleaning: 1,996 of 2,000 kept",
        "  empty          1    0.05 %  a.tsv, line 7: 'Hund'",
        f"  columns        3    0.15 %  a.tsv, line 9: '{'x' * 59}…'",
        f"                              a.tsv, line 11: '{'x' * 59}…'",
        f"                              a.tsv, line 13: '{'x' * 59}…'",
    ]


def test_an_empty_report_has_a_table_too():
    assert str(Report(title="reading")) == "reading: 0 of 0 kept"


def test_shortening_keeps_what_fits():
    assert shorten("abcd", 4) == "abcd"
    assert shorten("abcde", 4) == "abc…"
