"""A first look: which outlier scores find rare malignant samples among benign ones?

Uses scikit-learn's breast cancer data with all 357 benign and 15 malignant samples. Nothing is
learned from the labels here; they only tell afterwards which columns would have found the outliers.
"""

import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import MinMaxScaler

from boreod import OutlierRepresentation


def main() -> None:
    """Compute the representation and rank its columns."""
    data = load_breast_cancer()
    malignant = np.flatnonzero(data.target == 0)[:15]
    rows = np.concatenate([np.flatnonzero(data.target == 1), malignant])
    X = MinMaxScaler().fit_transform(data.data[rows])
    is_outlier = np.isin(rows, malignant)

    print("boreod: computing the outlier representation (the first run compiles its kernels) ...")
    started = time.perf_counter()
    model = OutlierRepresentation(passthrough=False)
    scores = model.fit_transform(X)
    seconds = time.perf_counter() - started
    print(
        f"{X.shape[0]} rows x {X.shape[1]} columns -> {scores.shape[1]} scores in {seconds:.2f} s\n"
    )

    quality = [roc_auc_score(is_outlier, column) for column in scores.T]
    order = np.argsort(quality)[::-1]
    print("column       ROC AUC   how well it ranks 15 malignant among 357 benign samples")
    for place in [*order[:5], *order[-2:]]:
        bar = "#" * round(40 * quality[place])
        print(f"{model.columns_[place]:<12} {quality[place]:.3f}    {bar}")

    best = scores[:, order[0]]
    top = np.argsort(best)[::-1][:10]
    found = ["outlier" if is_outlier[row] else "-" for row in top]
    print(f"\nTen most outlying rows by {model.columns_[order[0]]}: {', '.join(found)}")


if __name__ == "__main__":
    main()
