"""CustomResourceDefinitions: the resources they add to the catalogue, and what their schemas ask of objects.

`admission` is what the admission chain calls. `definitions` reads definitions and puts their resources into the
catalogue; `definition_validation` checks one, with `schema_validation` and `rule_validation` for its schemas.

`structure` prunes and fills in the objects of such a resource; `object_validation`, `formats` and `rule_check` say what
is wrong with them. `rules` compiles what they are asked in CEL, about values that `rule_values` makes; `rule_types`
holds it against the schema, `rule_patterns` bounds what its patterns weigh.
"""
