"""HTTP for the API: bytes to requests, answers to bytes, who may come in, and how long anybody may take.

`server.serve` is the way in. A `connection` reads `requests`, within the limits that `connections` keeps; `origin` and
`authentication` say who may come in, `verbs` answers, `audit` writes down what was asked.
"""
