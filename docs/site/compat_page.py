"""A directive, `compat-names`: the drop-in's names, by namespace, from its own table."""

from docutils import nodes
from docutils.parsers.rst import Directive

from pipeline.compat.names import MODULES


def names():
    """Return the names in each namespace, without the namespace; "" has those in `tf` itself."""
    found = {}
    for each in " ".join(MODULES.values()).split():
        space, _, name = each.partition("=")[0].rpartition(".")
        found.setdefault(space, set()).add(name)
    return {space: sorted(found[space], key=str.lower) for space in sorted(found)}


class CompatNames(Directive):
    def run(self):
        sections = []
        for space, within in names().items():
            title = f"tf.{space}".rstrip(".")
            section = nodes.section(ids=[f"names-{title}".replace(".", "-")])
            section += nodes.title("", "", nodes.literal("", title), nodes.Text(f": {len(within)}"))
            paragraph = nodes.paragraph(classes=["compat-names"])
            for name in within:
                paragraph += [nodes.literal("", name), nodes.Text(" ")]
            section += paragraph
            sections.append(section)
        return sections


def setup(app):
    app.add_directive("compat-names", CompatNames)
    return {"parallel_read_safe": True}
