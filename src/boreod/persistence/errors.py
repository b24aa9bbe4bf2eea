"""What can go wrong with a model file, and what stands for what it does not hold."""

from typing import Any, NoReturn

from numpy.typing import NDArray


class ModelFileError(ValueError):
    """A file is no usable model file, or a model cannot be put into one."""


class NotStoredError(ValueError, AttributeError):
    """Something was asked of a loaded model that needs its training rows."""


class NotStored:
    """Stands for what a model file does not hold; whoever asks it for anything is told so."""

    def __getattr__(self, name: str) -> NoReturn:
        """Say what is missing and how to get it."""
        raise NotStoredError(
            "This model was loaded from a file, which holds no bags and no columns that are not in "
            "use: `within`, `budget_curve` and `measure_costs` need a model that was fitted in "
            "this session, so fit again, or ask before saving."
        )

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """Be no array."""
        self.__getattr__("values")

    def __repr__(self) -> str:
        """Say what this is."""
        return "<not stored in the model file>"


class LabelsOnly(NotStored):
    """Stands for a training of which only the labels of the rows are stored.

    Parameters
    ----------
    codes
        1 outlier, 0 inlier, -1 unlabelled.
    weights
        For how many rows of the training table each one stands.
    """

    def __init__(self, codes: NDArray, weights: NDArray) -> None:
        self.codes, self.weights = codes, weights
