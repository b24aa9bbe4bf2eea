"""A convex quadratic program with few constraints, and a point on the way to its optimum.

min  1/2 a' (K o ss') a + q' a     s.t.  A a = b,  0 <= a <= c
"""

from dataclasses import dataclass, replace

from numpy.typing import NDArray

from boreod.baselines.kernels import Gram


@dataclass(frozen=True)
class Program:
    """A quadratic program.

    Attributes
    ----------
    gram
        K.
    signs
        s, +1 or -1.
    linear
        q.
    constraints, targets
        A, a row per constraint, and b.
    at_least
        Whether the last constraint reads ``>=``.
    caps
        c, all positive.
    start
        A guess strictly between 0 and the caps; it need not meet the constraints.
    """

    gram: Gram
    signs: NDArray
    linear: NDArray
    constraints: NDArray
    targets: NDArray
    at_least: bool
    caps: NDArray
    start: NDArray

    def keep(self, rows: NDArray) -> "Program":
        """Return the program in which all other rows have the weight 0."""
        return replace(
            self,
            gram=self.gram.keep(rows),
            signs=self.signs[rows],
            linear=self.linear[rows],
            constraints=self.constraints[:, rows],
            caps=self.caps[rows],
            start=self.start[rows],
        )

    def gradient(self, weights: NDArray) -> NDArray:
        """Return the gradient of the minimized function."""
        return self.signs * self.gram.times(self.signs * weights) + self.linear


@dataclass(frozen=True)
class Point:
    """Weights with all multipliers; also a direction between two such.

    Attributes
    ----------
    weights, room
        a, and c - a.
    low, high
        Multipliers of a >= 0 and of a <= c.
    surplus
        What the last constraint has above its target, if it reads ``>=``.
    multipliers
        Of the constraints.
    """

    weights: NDArray
    room: NDArray
    low: NDArray
    high: NDArray
    surplus: float
    multipliers: NDArray

    def move(self, direction: "Point", size: float) -> "Point":
        """Take a step."""
        return Point(
            self.weights + size * direction.weights,
            self.room + size * direction.room,
            self.low + size * direction.low,
            self.high + size * direction.high,
            self.surplus + size * direction.surplus,
            self.multipliers + size * direction.multipliers,
        )
