"""The page that shows a cluster and says why: its files, what it asks, and what it hears as long as somebody watches.

It reads one replica through `app/inspection.py` and writes to nothing. `page.py` puts it together, `api.py` lists what
can be asked; `answers.py` and `pod_answers.py` say what comes back, and docs/page.md describes it.
"""
