"""The types of the Kubernetes API: one description of every built-in kind, for everything that asks about fields.

`schema` is a type as the server looks at it, `release` the types of a release of Kubernetes, from the file that
`make types` generates, and `openapi` reads a type from OpenAPI, which custom resources are described in as well. They
feed validation (`admission.shapes`), the binary form (`protobuf`), patches (`patching`) and `kubectl explain`
(`openapi`).
"""
