"""CEL, the language of device selectors and of the validation rules of custom resources, as Kubernetes sets it up.

`environment` makes one out of the CEL library, with the functions of `functions`. `patterns` are regular expressions by
the engine of the same library, which takes linear time. Importing `environment` or `patterns` imports the library;
import them when the first expression is met.
"""
