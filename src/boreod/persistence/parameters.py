"""Convert the parameters of a detector to JSON for a manifest, and back.

Parameters are numbers, texts, lists, and a few objects of this package. If JSON lacks the type of a
value, a JSON object with one key stands for the value: ``{"tuple": [1, 2]}``.
"""

from collections.abc import Container, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from boreod.ensemble.parameters import GROUPS, ParameterGroup
from boreod.files import typed_json
from boreod.persistence.container import ModelFileError
from boreod.representation.views import View
from boreod.scores import SCORES, Score
from boreod.selection.costs import Costs
from boreod.text import shorten

# Parameters of OutlierRepresentation, which cannot be imported without scikit-learn.
OF_REPRESENTATION = ("scores", "ks", "views", "passthrough", "neighbors", "n_jobs", "random_state",
                     "verbose")  # fmt: skip
PARAMETER = "a parameter in the manifest"


def encode_all(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON."""
    return {name: encode(name, value) for name, value in parameters.items()}


def encode(name: str, value: Any) -> Any:
    """Return a parameter as JSON; raise if a model file cannot hold it.

    Examples
    --------
    >>> encode("views", ("full", View("angle", metric="cosine")))["tuple"][0]
    'full'
    """
    if isinstance(value, np.generic):
        value = value.item()
    is_finite = isinstance(value, float) and np.isfinite(value)
    if is_finite or isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, list | range | np.ndarray):
        return [encode(name, item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(name, item) for item in value]}
    if isinstance(value, Mapping):
        return {"dict": [[encode(name, k), encode(name, v)] for k, v in value.items()]}
    return _encode_object(name, value)


def _encode_object(name: str, value: Any) -> Any:
    if isinstance(value, type) and issubclass(value, Score) and value in SCORES.values():
        return {"score class": value.name}
    if isinstance(value, Score) and is_registered(value):
        return {"score": [value.name, value.parameters()]}
    if isinstance(value, View | Costs):
        parts = {part.name: encode(name, getattr(value, part.name)) for part in fields(value)}
        return {type(value).__name__.lower(): parts}
    if isinstance(value, ParameterGroup):
        return {"group": [name, encode_all(value.get_params())]}
    from boreod.representation.transformer import OutlierRepresentation

    if isinstance(value, OutlierRepresentation):
        return {"representation": encode_all(value.get_params(deep=False))}
    if isinstance(value, np.random.RandomState):
        remedy = "Set a number as seed first: model.set_params(random_state=0)"
    else:
        remedy = f"Use scores of boreod instead ({', '.join(SCORES)}) and fit again"
    raise ModelFileError(
        f"`{name}` holds {shorten(value)}, which a model file cannot store without pickle. "
        f"{remedy}."
    )


def decode(value: Any) -> Any:
    """Return a parameter from its form in JSON; the inverse of :func:`encode`."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1 or next(iter(value)) not in _KINDS:
        raise ModelFileError(f"its manifest holds a parameter of an unknown kind: {shorten(value)}")
    kind, content = next(iter(value.items()))
    return _KINDS[kind](content)


def decode_known(parameters: Any, known: Container[str], owner: str) -> dict[str, Any]:
    """Return decoded parameters; raise for a parameter whose name is not ``known``."""
    decoded = _decode_all(parameters)
    for name in decoded:
        if name not in known:
            raise ModelFileError(f"{owner} has no parameter {shorten(name)}")
    return decoded


def decode_representation(parameters: Any) -> dict[str, Any]:
    """Return the parameters of a representation, without scikit-learn."""
    return decode_known(parameters, OF_REPRESENTATION, "OutlierRepresentation")


def _decode_all(content: Any) -> dict[str, Any]:
    found = typed_json(dict[str, Any], content, PARAMETER)
    return {name: decode(item) for name, item in found.items()}


def _pairs(content: Any) -> dict[Any, Any]:
    pairs = typed_json(list[tuple[Any, Any]], content, PARAMETER)
    return {decode(key): decode(item) for key, item in pairs}


def _score(content: Any) -> Score:
    name, parameters = typed_json(tuple[str, dict[str, float]], content, PARAMETER)
    return score_class(name)(**parameters)


def _representation(content: Any) -> Any:
    from boreod.representation.transformer import OutlierRepresentation

    return OutlierRepresentation(**decode_representation(content))


def is_registered(score: Score) -> bool:
    """Return whether a score can be built again from its name and parameters."""
    return SCORES.get(getattr(score, "name", "")) is type(score)


def score_class(name: Any) -> type[Score]:
    """Return the class of a score, given its name in the registry."""
    if not isinstance(name, str) or name not in SCORES:
        raise ModelFileError(
            f"it uses the score {shorten(name)}, but this boreod has only {', '.join(SCORES)}"
        )
    return SCORES[name]


def _make_group(name: Any, parameters: dict[str, Any]) -> ParameterGroup:
    """Return a group from unchecked names and values; raise for unknown names."""
    if not isinstance(name, str) or name not in GROUPS:
        raise ValueError(f"there is no group {shorten(name)} of parameters")
    return GROUPS[name]().set_params(**parameters)


_KINDS: dict[str, Any] = {
    "tuple": lambda content: tuple(decode(typed_json(list[Any], content, PARAMETER))),
    "dict": _pairs,
    "score class": score_class,
    "score": _score,
    "view": lambda content: View(**_decode_all(content)),
    "costs": lambda content: Costs(**_decode_all(content)),
    "group": lambda content: _make_group(content[0], _decode_all(content[1])),
    "representation": _representation,
}
