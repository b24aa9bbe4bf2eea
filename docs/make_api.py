"""Write docs/api.md from the docstrings: ``python docs/make_api.py``."""

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

PAGES = {
    "boreod": "The detector, the representation, model files.",
    "boreod.paper.baselines": "Methods to compare with.",
    "boreod.paper.datasets": "Data sets of the paper, and some that need no download.",
    "boreod.tool": "Detectors of whole tables; needs `pip install boreod[data]`.",
    "boreod.paper.evaluation": "Comparisons on the same splits.",
    "boreod.metrics": "How well scores rank outliers above inliers.",
    "boreod.ensemble.novelty": "How unlike the training rows other rows are.",
    "boreod.tables": "Tables in and out; needs `pip install boreod[data]`.",
}
SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "Notes", "Examples")


def make_api() -> str:
    """Return the reference of all public names."""
    parts = ["# API reference\n\nWritten from the docstrings by `python docs/make_api.py`.\n"]
    told: dict[Any, str] = {}
    for name, about in PAGES.items():
        module = import_module(name)
        parts.append(f"## {name}\n\n{about}\n")
        public = getattr(module, "__all__", None) or [
            key for key, value in vars(module).items() if is_own(value, name)
        ]
        for key in sorted(public, key=str.lower):
            value = getattr(module, key)
            if inspect.isclass(value) or inspect.isfunction(value):
                parts.append(describe(f"{name}.{key}", value, told))
    return "\n".join(parts)


def is_own(value: Any, module: str) -> bool:
    """Return whether a module without ``__all__`` defines an object for its users."""
    return getattr(value, "__module__", None) == module and not value.__name__.startswith("_")


def describe(name: str, value: Any, told: dict[Any, str]) -> str:
    """Return a class with its methods, or a function; only name methods in ``told``."""
    text = f"### {name}\n\n{signature(value, name)}{to_markdown(inspect.getdoc(value) or '')}\n"
    if not inspect.isclass(value) or issubclass(value, Exception):
        return text
    inherited: dict[str, list[str]] = {}
    for key, member in inspect.getmembers(value):
        function = getattr(member, "__func__", member)
        own = str(getattr(function, "__module__", "")).startswith("boreod")
        if not key.startswith("_") and inspect.isfunction(function) and own:
            if function in told:
                inherited.setdefault(told[function], []).append(f"`{key}`")
                continue
            told[function] = name
            text += f"\n#### {key}\n\n{signature(member, key)}"
            text += to_markdown(inspect.getdoc(member) or "") + "\n"
    for owner, names in inherited.items():
        text += f"\nAs in `{owner}`: {', '.join(names)}.\n"
    return text


def signature(value: Any, name: str) -> str:
    """Return names and defaults of the parameters, without types."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ""
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters if p.name != "self"]
    shown = str(inspect.Signature(plain))
    return f"`{name.rpartition('.')[2]}{re.sub(r' at 0x[0-9a-f]+', '', shown)}`\n\n"


def to_markdown(docstring: str) -> str:
    """Turn the sections of a docstring into lists and blocks of code."""
    parts = re.split(rf"^({'|'.join(SECTIONS)})\n-+\n", docstring, flags=re.M)
    text = plain(parts[0])
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        if title == "Examples":
            text += f"\n```pycon\n{body.strip()}\n```\n"
        elif title in {"Notes", "Returns"}:
            text += f"\n{title}: {plain(body)}"
        else:
            text += f"\n{title}:\n\n" + entries(body)
    return text


def entries(body: str) -> str:
    """Return names and their texts as a list."""
    found = re.findall(r"^(\S[^\n]*)\n((?:[ ]+[^\n]*\n?|\n)*)", body.strip() + "\n", flags=re.M)
    return "".join(f"- `{name.strip()}`: {inline(' '.join(t.split()))}\n" for name, t in found)


def plain(text: str) -> str:
    """Return paragraphs as Markdown; formulas and tables stay as they are."""
    blocks = []
    for block in inline(text.strip()).split("\n\n"):
        as_it_is = re.search(r"^(?: {4}|=+ )", block, re.M)
        blocks.append(f"```text\n{block}\n```" if as_it_is else block)
    return "\n\n".join(blocks) + "\n"


def inline(text: str) -> str:
    """Return text with roles and double backticks as Markdown has them."""
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")


if __name__ == "__main__":
    Path(__file__).with_name("api.md").write_text(make_api(), encoding="utf-8")
