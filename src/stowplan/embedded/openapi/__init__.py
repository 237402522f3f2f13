"""The description of the API in OpenAPI: what kubectl looks into before it sends, and what `kubectl explain` shows.

`documents` describes the kinds that are served and writes that as version 3, `legacy` writes it as version 2.
"""
