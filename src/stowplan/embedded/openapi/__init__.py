"""The description of the API in OpenAPI: what kubectl looks into before it sends, and what `kubectl explain` shows.

`documents` lists and writes the documents, `schemas` describes the built-in kinds by `models`, `legacy` is version 2.
"""
