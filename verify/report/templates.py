"""The templates of this folder, set up once: markdown, strict about names, with the filters that reports share."""

from functools import cache

import jinja2

from draftproof.verify.report.escape import markdown


@cache
def environment() -> jinja2.Environment:
    """The environment of all report templates. Filters: `md` escapes text, `figure` writes a total variation."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("draftproof.verify.report", "."),
        autoescape=False,  # noqa: S701 - the output is markdown, escaped by the filter below
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters["md"] = markdown
    made.filters["figure"] = figure
    return made


def figure(value: float) -> str:
    """A total variation or another small number in two digits; 0 as it is."""
    return f"{value:.1e}" if value else "0"
