"""One definition per type name: whoever searches for a class finds one."""

import ast
from collections import defaultdict

from tests.architecture.source_tree import PACKAGE, modules, parse

#: A plugin has the name of its class, and the API a field of the same name.
TWICE = {"NodeAffinity": "the plugin, and what a pod writes"}


def test_a_type_name_is_defined_once() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(PACKAGE).as_posix())
    twice = {name: found for name, found in places.items() if len(found) > 1 and name not in TWICE}
    assert twice == {}, "rename one to what it really is"
