"""The pages of the manual that are made from the code: `make docs-generated` writes them.

Each module makes one page; `PAGES` has them all. `tests/architecture/test_reference_pages.py` compares.
"""
