"""CustomResourceDefinitions: the resources they add to the catalogue, and what their schemas ask of objects.

`intake` is what admission calls. `definition` reads a definition, `registration` puts its resources into the catalogue.
`faults` checks a definition, with `schema_faults`, `list_faults` and `rule_faults` for its schemas. `structure` prunes
and fills in the objects of such a resource; `checking`, `formats`, `uniqueness` and `rule_check` say what is wrong with
them. `rules` compiles what they are asked in CEL, about values that `rule_values` makes; `rule_types` and `rule_typing`
hold it against the schema, `pattern_meter` and `network_functions` are functions it may use.
"""
