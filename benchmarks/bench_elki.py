"""Compare the CPU seconds of twelve scores at k = 100 with those of ELKI 0.7.1.

ELKI computes neighbors once and stores them in a table. The script needs Java and Debian's package
`elki`. The archive of this package holds an index that newer Java versions refuse, so the script
makes a copy without the index.
"""

import tempfile
import zipfile
from pathlib import Path

import numpy as np
from timing import cpu_seconds, cpu_seconds_of_process, report

from boreod import OutlierRepresentation

JARS = Path("/usr/share/java")
PROGRAM = "de.lmu.ifi.dbs.elki.application.greedyensemble.ComputeKNNOutlierScores"
OURS = "KNN|KNNW|ODIN|LOF|SimplifiedLOF|COF|INFLO|LoOP|LDOF|LDF|KDEOS|FastABOD"


def elki_seconds(rows: np.ndarray, k: int) -> float:
    """Return the CPU seconds of ELKI's batch program for our twelve scores."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            zipfile.ZipFile(JARS / "elki.jar") as source,
            zipfile.ZipFile(folder / "elki.jar", "w") as target,
        ):
            for item in source.infolist():
                if item.filename != "META-INF/INDEX.LIST":
                    target.writestr(item, source.read(item.filename))
        lines = [" ".join(map(repr, row)) + " inlier" for row in rows.tolist()]
        lines[0] = lines[0].replace("inlier", "outlier")
        (folder / "rows.txt").write_text("\n".join(lines))
        command = ["java", "-Xmx8g", "-cp", f"{folder}/elki.jar:{JARS}/trove4j.jar", PROGRAM]
        command += ["-dbc.in", f"{folder}/rows.txt", "-app.out", f"{folder}/scores.txt"]
        command += ["-startk", str(k), "-stepk", "1", "-maxk", str(k)]
        command += ["-outlier.pattern", "outlier", "-disable", f"^(?!({OURS})$).*"]
        taken = cpu_seconds_of_process(command)
        names = [line.split(" ", 1)[0] for line in (folder / "scores.txt").open()]
        assert len(names) == 2 + 12, f"a header, the labels and twelve scores, not {names}"
    return taken


def main() -> None:
    """Measure at n = 5000, d = 20."""
    if not (JARS / "elki.jar").exists():
        print("skipped: install Java and Debian's package `elki` to compare with it")
        return
    rows = np.random.default_rng(0).normal(size=(5000, 20))
    model = OutlierRepresentation(ks=[100])
    # The first call compiles.
    model.fit_transform(rows)
    ours = min(cpu_seconds(lambda: model.fit_transform(rows)) for _ in range(5))
    theirs = elki_seconds(rows, 100)
    print(f"boreod {ours:.2f} s CPU, ELKI {theirs:.2f} s CPU")
    ratio = theirs / ours
    report("ELKI / boreod, CPU seconds", ratio, "at least 10", ratio >= 10)


if __name__ == "__main__":
    main()
