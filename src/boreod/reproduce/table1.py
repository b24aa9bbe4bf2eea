"""Table 1: the data sets as found."""

from boreod import datasets
from boreod.documents import Block, Paragraph, Section, Table
from boreod.reproduce.setup import Settings, load_repetition, read_paper, write_csv


def reproduce_table1(settings: Settings) -> Section:
    """Count rows, columns and outliers of every set, beside what the paper says."""
    paper = {row["dataset"]: row for row in read_paper("paper_table1.csv")}
    infos = {info.name: info for info in datasets.catalogue()}
    rows = []
    for name in settings.datasets:
        points, codes = load_repetition(name, 0, settings.data)
        said = paper.get(name, {"n": "", "d": "", "r": ""})
        share = 100 * codes.mean()
        rows.append(
            {
                "dataset": name,
                "n": len(points),
                "d": points.shape[1],
                "outliers": int(codes.sum()),
                "outlier_percent": round(float(share), 2),
                "samples": len(infos[name].versions),
                "paper_n": said["n"],
                "paper_d": said["d"],
                "paper_percent": said["r"],
                "note": infos[name].note,
            }
        )
    write_csv(settings.folder / "table1.csv", rows)
    header = ["set", "n", "d", "outliers", "%", "samples", "paper: n", "d", "%"]
    table = Table(header, [[str(value) for value in list(row.values())[:-1]] for row in rows])
    notes = [f"{row['dataset']}: {row['note']}." for row in rows if row["note"]]
    text = "Rows, columns and outliers as found, and as printed in the paper's Table 1. "
    text += "Samples: how many draws of the set there are; results are means over them."
    blocks: list[Block] = [Paragraph(text), table, *(Paragraph(note) for note in notes)]
    return Section("Table 1: data sets", blocks)
