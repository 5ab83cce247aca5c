"""Checks a document against a JSON schema, as far as the schemas of this tree go; an unknown keyword is an error."""

import json

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
NOTES = {"$schema", "$defs", "title", "description", "default"}


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def faults(value, schema, root, place="$"):
    """What is wrong, as lines that begin with the place."""
    while "$ref" in schema:
        schema = {**{k: v for k, v in schema.items() if k != "$ref"}, **root["$defs"][schema["$ref"].removeprefix("#/$defs/")]}
    found = []
    for key, rule in schema.items():
        if key in NOTES or key in ("prefixItems", "additionalProperties"):
            continue
        if key == "type":
            names = rule if isinstance(rule, list) else [rule]
            if not any(is_type(value, name) for name in names):
                return [f"{place}: is no {' or '.join(names)}"]
        elif key == "const" or key == "enum":
            if value not in (rule if key == "enum" else [rule]):
                found.append(f"{place}: {value!r} is not {rule!r}")
        elif key == "minimum":
            if value < rule:
                found.append(f"{place}: {value} is less than {rule}")
        elif key == "minItems":
            if len(value) < rule:
                found.append(f"{place}: has {len(value)} elements, not {rule}")
        elif key == "maxItems":
            if len(value) > rule:
                found.append(f"{place}: has {len(value)} elements, not {rule}")
        elif key == "required":
            found += [f"{place}: has no '{name}'" for name in rule if name not in value]
        elif key == "properties":
            for name, inner in rule.items():
                if name in value:
                    found += faults(value[name], inner, root, f"{place}.{name}")
        elif key == "items":
            for i, element in enumerate(value):
                found += faults(element, rule, root, f"{place}[{i}]")
        else:
            raise ValueError(f"schema keyword '{key}'")
    for i, inner in enumerate(schema.get("prefixItems", [])):
        if i < len(value):
            found += faults(value[i], inner, root, f"{place}[{i}]")
    others = schema.get("additionalProperties", True)
    if isinstance(value, dict) and others is not True:
        for name in value.keys() - schema.get("properties", {}).keys():
            found += [f"{place}: has '{name}'"] if others is False else faults(value[name], others, root, f"{place}.{name}")
    return found


def check(document, path):
    with open(path) as file:
        schema = json.load(file)
    return faults(document, schema, schema)
