"""What happens to an object on its way into the store, and what can be done to it there. Start at `api`.

`metadata` and `parts` say what a request may change, `deletion` how an object goes; `pod_subresources` and `scale` are
changes by a path of their own, `large_changes` those that would keep others waiting. `precedence` puts clients first.
"""
