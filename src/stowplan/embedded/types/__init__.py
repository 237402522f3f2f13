"""The types of the Kubernetes API: one description of every built-in kind, for everything that asks about fields.

`schema` is a type as the server looks at it, `release` has the types of a release of Kubernetes, from the file that
`make types` generates, and `structural` reads a type from OpenAPI, in which custom resources are described as well.
They feed validation (`admission.shapes`), defaults (`admission.defaults`), the binary form (`protobuf`), patches
(`patching`) and `kubectl explain` (`openapi`).
"""
