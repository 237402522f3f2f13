"""The description of the API in OpenAPI: what kubectl looks into before it sends, and what `kubectl explain` shows.

`schemas` describes the kinds that are served, `documents` writes that as version 3, `legacy` as version 2.
"""
