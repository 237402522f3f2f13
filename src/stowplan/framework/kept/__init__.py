"""Kept answers: what plugins said about the pods of one signature, asked again only where something they read changed.

`memo` finds the answer for a pod; `pre_filtering`, `filtering` and `ranking` keep it up to date, the last with
`score_step`; `asking` puts single questions and notes what is read; `incremental` is what
plugins may inherit to be asked less.
"""
