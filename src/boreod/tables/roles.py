"""Which columns of a table are for what: the label, ids, left out, or for learning."""

from collections.abc import Iterable
from dataclasses import dataclass

from boreod.tables.errors import TableError
from boreod.text import listed, shorten, suggest

Names = str | Iterable[str]


@dataclass(frozen=True)
class Roles:
    """Names of columns by role, and those that are left for learning."""

    label: str | None
    ids: tuple[str, ...]
    dropped: tuple[str, ...]
    used: tuple[str, ...]


def read_roles(
    known: list[str], label: str | None, ids: Names, drop: Names, keep: Names | None
) -> Roles:
    """Check names against the columns of a table, and give each column one role.

    Parameters
    ----------
    known
        All columns of the table.
    label
        The column of labels, or None.
    ids
        Columns that name a row.
    drop
        Columns to leave out.
    keep
        The only columns to learn from; None for all that have no other role.
    """
    asked = {
        "label": () if label is None else (label,),
        "ids": _as_tuple(ids),
        "drop": _as_tuple(drop),
        "keep": () if keep is None else _as_tuple(keep),
    }
    role_of: dict[str, str] = {}
    for role, names in asked.items():
        for name in names:
            _check(name, role, known, role_of)
            role_of[name] = role
    if keep is not None and not asked["keep"]:
        raise TableError("`keep` (--keep) must name at least one column, or be left out.")
    used = [name for name in known if role_of.get(name) == "keep"]
    if keep is None:
        used = [name for name in known if name not in role_of]
    if not used:
        raise TableError(
            f"No column is left to learn from; the table has {listed(known)}. Name fewer of them "
            "as label, id or to drop."
        )
    rest = [
        name for name in known if role_of.get(name) not in ("label", "ids") and name not in used
    ]
    return Roles(label, asked["ids"], tuple(rest), tuple(used))


def _check(name: str, role: str, known: list[str], role_of: dict[str, str]) -> None:
    if not isinstance(name, str):
        raise TypeError(f"`{role}` must be names of columns; got {name!r}.")
    flag = {"ids": "--id"}.get(role, f"--{role}")
    if name not in known:
        raise TableError(
            f"`{role}` ({flag}) must name columns of the table; got {shorten(name)}. "
            f"{suggest(name, known)}"
        )
    if role_of.get(name, role) != role:
        raise TableError(
            f"A column can have one role; {shorten(name)} is named in both `{role_of[name]}` and "
            f"`{role}`. Take it out of one."
        )


def _as_tuple(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))
