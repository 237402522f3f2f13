"""Links of the documentation lead to what is there, in the repository and on the site."""

from pathlib import Path

import pytest

from tools.documentation import stage
from tools.documentation.stage import BrokenLinkError

INDEX = """\
# The manual

## Operate

- [Install](install.md): how
- [Read me](../README.md): what

## Extend

- [Plugins](plugins/README.md): which
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {
        "README.md": "# Read me\n\n[Install](docs/install.md#how) and [code](src/code.py)\n",
        "docs/index.md": INDEX,
        "docs/install.md": "# Install\n\n`[no](link.md)`\n\n[plugins](plugins) and [examples](../examples)\n",
        "docs/plugins/README.md": "# Plugins\n",
        "docs/plugins/Fit.md": "# Fit\n\n[code](../../src/code.py)\n",
        "src/code.py": 'print("```")\n',
        "examples/a.yaml": "a: 1\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def site(repository: Path) -> Path:
    stage.lay_out(repository, repository / "build")
    return repository / "build"


def test_pages_are_where_the_site_has_them_and_links_follow(repository: Path) -> None:
    pages = site(repository)
    assert "[Install](install.md#how) and [code](source/src/code.py.md)" in (pages / "README.md").read_text()
    install = (pages / "install.md").read_text()
    assert "`[no](link.md)`" in install
    assert "[plugins](plugins/README.md) and [examples](source/examples/index.md)" in install
    assert "[code](../source/src/code.py.md)" in (pages / "plugins" / "Fit.md").read_text()


def test_a_file_that_is_linked_to_has_a_page_with_its_text(repository: Path) -> None:
    page = (site(repository) / "source" / "src" / "code.py.md").read_text()
    assert page == '---\norphan: true\n---\n\n# src/code.py\n\n````python\nprint("```")\n\n````\n'


def test_a_folder_that_is_linked_to_is_listed(repository: Path) -> None:
    assert "- `a.yaml`" in (site(repository) / "source" / "examples" / "index.md").read_text()


def test_the_navigation_is_that_of_the_index(repository: Path) -> None:
    pages = site(repository)
    index = (pages / "index.md").read_text()
    assert ":caption: Operate\n\nInstall <install.md>\nRead me <README.md>\n```" in index
    assert ":caption: Extend\n\nPlugins <plugins/README.md>\n```" in index
    assert "\nFit.md\n```" in (pages / "plugins" / "README.md").read_text()


def test_a_link_that_leads_nowhere_is_named(repository: Path) -> None:
    (repository / "docs" / "install.md").write_text("[gone](gone.md)", encoding="utf-8")
    with pytest.raises(BrokenLinkError, match=r"docs/install\.md: links to gone\.md, which is not there"):
        site(repository)


@pytest.mark.parametrize("page", [*stage.pages(stage.ROOT), "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    text, _ = stage.with_links((stage.ROOT / page).read_text(encoding="utf-8"), page, stage.ROOT)
    assert text
