"""Schemas that are structural, and that are not, by what is the matter with them."""

from __future__ import annotations

from typing import Any, Final

SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "root not object": {"type": "string"},
    "no root type": {},
    "nested without type": {"type": "object", "properties": {"a": {}}},
    "items missing": {"type": "object", "properties": {"a": {"type": "array"}}},
    "items notype": {"type": "object", "properties": {"a": {"type": "array", "items": {}}}},
    "bad type": {"type": "object", "properties": {"a": {"type": "foo"}}},
    "additional and props": {
        "type": "object",
        "properties": {
            "a": {
                "type": "object",
                "properties": {"b": {"type": "integer"}},
                "additionalProperties": {"type": "integer"},
            }
        },
    },
    "additional false": {"type": "object", "properties": {}, "additionalProperties": False},
    "additional true": {
        "type": "object",
        "properties": {"a": {"type": "object", "additionalProperties": True}},
    },
    "root additional": {
        "type": "object",
        "properties": {},
        "additionalProperties": {"type": "integer"},
    },
    "ref": {"type": "object", "properties": {"a": {"$ref": "#/x"}}},
    "uniqueItems": {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}},
    },
    "deps": {"type": "object", "properties": {}, "dependencies": {"a": ["b"]}},
    "patternProps": {
        "type": "object",
        "properties": {},
        "patternProperties": {"a": {"type": "integer"}},
    },
    "definitions": {"type": "object", "properties": {}, "definitions": {"a": {"type": "integer"}}},
    "additionalItems": {
        "type": "object",
        "properties": {
            "a": {
                "type": "array",
                "items": {"type": "integer"},
                "additionalItems": {"type": "integer"},
            }
        },
    },
    "ios type": {
        "type": "object",
        "properties": {"a": {"x-kubernetes-int-or-string": True, "type": "string"}},
    },
    "pUF on int": {
        "type": "object",
        "properties": {"a": {"type": "integer", "x-kubernetes-preserve-unknown-fields": True}},
    },
    "puf false": {
        "type": "object",
        "properties": {"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": False}},
    },
    "puf no type": {
        "type": "object",
        "properties": {"a": {"x-kubernetes-preserve-unknown-fields": True}},
    },
    "embedded": {
        "type": "object",
        "properties": {"a": {"type": "object", "x-kubernetes-embedded-resource": True}},
    },
    "embedded puf": {
        "type": "object",
        "properties": {
            "a": {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            }
        },
    },
    "embedded string": {
        "type": "object",
        "properties": {"a": {"type": "string", "x-kubernetes-embedded-resource": True}},
    },
    "default wrong type": {
        "type": "object",
        "properties": {"a": {"type": "integer", "default": "x"}},
    },
    "default unknown": {
        "type": "object",
        "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "integer"}}, "default": {"c": 1}}
        },
    },
    "default metadata": {
        "type": "object",
        "properties": {"metadata": {"type": "object", "default": {}}},
    },
    "default pattern": {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "^x$", "default": "y"}},
    },
    "default enum": {
        "type": "object",
        "properties": {"a": {"type": "string", "enum": ["x"], "default": "y"}},
    },
    "root default": {"type": "object", "properties": {}, "default": {}},
    "default null": {"type": "object", "properties": {"a": {"type": "string", "default": None}}},
    "default required": {
        "type": "object",
        "properties": {
            "a": {
                "type": "object",
                "properties": {"b": {"type": "integer"}},
                "required": ["b"],
                "default": {},
            }
        },
    },
    "metadata props": {
        "type": "object",
        "properties": {
            "metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}
        },
    },
    "metadata name pattern": {
        "type": "object",
        "properties": {
            "metadata": {
                "type": "object",
                "properties": {"name": {"type": "string", "pattern": "^a"}},
            }
        },
    },
    "metadata string": {"type": "object", "properties": {"metadata": {"type": "string"}}},
    "apiVersion int": {"type": "object", "properties": {"apiVersion": {"type": "integer"}}},
    "kind int": {"type": "object", "properties": {"kind": {"type": "integer"}}},
    "list-type foo": {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "foo"}
        },
    },
    "list map nokeys": {
        "type": "object",
        "properties": {
            "a": {
                "type": "array",
                "items": {"type": "object", "properties": {"k": {"type": "string"}}},
                "x-kubernetes-list-type": "map",
            }
        },
    },
    "keys without map": {
        "type": "object",
        "properties": {
            "a": {
                "type": "array",
                "items": {"type": "object", "properties": {"k": {"type": "string"}}},
                "x-kubernetes-list-map-keys": ["k"],
            }
        },
    },
    "map key unknown": {
        "type": "object",
        "properties": {
            "a": {
                "type": "array",
                "items": {"type": "object", "properties": {"k": {"type": "string"}}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["z"],
            }
        },
    },
    "map key obj": {
        "type": "object",
        "properties": {
            "a": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"k": {"type": "object", "properties": {}}},
                    "required": ["k"],
                },
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k", "k"],
            }
        },
    },
    "list type on obj": {
        "type": "object",
        "properties": {"a": {"type": "object", "x-kubernetes-list-type": "map"}},
    },
    "set of obj": {
        "type": "object",
        "properties": {
            "a": {
                "type": "array",
                "items": {"type": "object", "properties": {}},
                "x-kubernetes-list-type": "set",
            }
        },
    },
    "map-type": {
        "type": "object",
        "properties": {
            "a": {
                "type": "array",
                "items": {"type": "integer"},
                "x-kubernetes-map-type": "granular",
            }
        },
    },
    "map-type foo": {
        "type": "object",
        "properties": {"a": {"type": "object", "x-kubernetes-map-type": "foo"}},
    },
    "map scalars": {
        "type": "object",
        "properties": {
            "a": {
                "type": "array",
                "items": {"type": "string"},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
            }
        },
    },
    "allOf type": {
        "type": "object",
        "properties": {
            "a": {
                "type": "object",
                "properties": {"b": {"type": "integer"}},
                "allOf": [{"type": "object"}],
            }
        },
    },
    "anyOf new prop": {
        "type": "object",
        "properties": {
            "a": {
                "type": "object",
                "properties": {"b": {"type": "integer"}},
                "anyOf": [{"properties": {"c": {}}}],
            }
        },
    },
    "allOf desc": {
        "type": "object",
        "properties": {
            "a": {
                "type": "object",
                "properties": {"b": {"type": "integer"}},
                "allOf": [{"description": "x", "title": "t", "default": 1, "nullable": True}],
            }
        },
    },
    "not": {
        "type": "object",
        "properties": {
            "a": {
                "type": "object",
                "properties": {"b": {"type": "integer"}},
                "not": {"properties": {"b": {"minimum": 2}}},
            }
        },
    },
    "ios anyof": {
        "type": "object",
        "properties": {
            "a": {
                "x-kubernetes-int-or-string": True,
                "anyOf": [{"type": "integer"}, {"type": "string"}],
            }
        },
    },
    "required unknown": {
        "type": "object",
        "properties": {"a": {"type": "object", "properties": {}, "required": ["zz"]}},
    },
    "format foo": {"type": "object", "properties": {"a": {"type": "string", "format": "foo"}}},
    "ext foo": {"type": "object", "properties": {"a": {"type": "string", "x-foo": 1}}},
    "enum []": {"type": "object", "properties": {"a": {"type": "string", "enum": []}}},
    "exclusiveMax": {
        "type": "object",
        "properties": {"a": {"type": "integer", "exclusiveMaximum": True}},
    },
    "items list": {
        "type": "object",
        "properties": {"a": {"type": "array", "items": [{"type": "integer"}]}},
    },
    "nullable type": {"type": "object", "properties": {"a": {"nullable": True}}},
    "xvalid at metadata": {
        "type": "object",
        "properties": {
            "metadata": {
                "type": "object",
                "properties": {},
                "x-kubernetes-validations": [{"rule": "true"}],
            }
        },
    },
    "two": {"type": "object", "properties": {"a": {}, "b": {"type": "array"}}},
}
