"""Who tells others is given them when it is made: no attribute does nothing until somebody sets a
callback into it.

A callback that is set later can be forgotten, is missing where a reader looks (the constructor),
and hides a circle between two parts. Give the collaborator, or one typed listener, to the
constructor instead. A parameter may have such a default; an attribute may not.
"""

import ast
from collections.abc import Collection, Iterator

import pytest

from tests.architecture.sources import Source, sources


def does_nothing(node: ast.expr | None, functions: dict[str, ast.FunctionDef]) -> bool:
    """Whether a value is a callable without an effect: a lambda or function that gives a constant,
    or a type that gives an empty one.
    """
    match node:
        case ast.Lambda(body=body):
            return is_constant(body)
        case ast.Name(id=name) if name in functions:
            return all(
                isinstance(step, ast.Pass)
                or (
                    isinstance(step, ast.Expr | ast.Return)
                    and (step.value is None or is_constant(step.value))
                )
                for step in functions[name].body
            )
        case ast.Name(
            id="dict"
            | "list"
            | "tuple"
            | "set"
            | "frozenset"
            | "str"
            | "int"
            | "float"
            | "bool"
            | "bytes"
            | "object"
        ):
            return True
        case ast.Call(func=ast.Name(id="field") | ast.Attribute(attr="field"), keywords=keywords):
            return any(
                does_nothing(one.value if one.arg == "default" else body_of(one.value), functions)
                for one in keywords
                if one.arg in ("default", "default_factory")
            )
    return False


def body_of(node: ast.expr) -> ast.expr | None:
    """What a factory gives."""
    return node.body if isinstance(node, ast.Lambda) else None


def is_constant(node: ast.expr) -> bool:
    """None, a number, a text, an empty collection."""
    match node:
        case ast.Constant():
            return True
        case (
            ast.Tuple(elts=[])
            | ast.List(elts=[])
            | ast.Dict(keys=[])
            | ast.Call(func=ast.Name(), args=[], keywords=[])
        ):
            return True
    return False


def is_callable(annotation: ast.expr | None) -> bool:
    """Whether an annotation names a callable, so that a type is a value of it and no type."""
    return annotation is not None and "Callable[" in ast.unparse(annotation)


def defaults(tree: ast.Module) -> Iterator[str]:
    """The attributes of classes that do nothing by default: "Class.attribute"."""
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for owner in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for node in ast.walk(owner):
            match node:
                case ast.AnnAssign(
                    target=ast.Name(id=name), annotation=annotation, value=value
                ) if node in owner.body:
                    typed: ast.expr | None = annotation
                case ast.AnnAssign(
                    target=ast.Attribute(value=ast.Name(id="self"), attr=name),
                    annotation=annotation,
                    value=value,
                ):
                    typed = annotation
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value
                ):
                    typed = None
                case _:
                    continue
            if (
                not isinstance(value, ast.Name) or value.id in functions or is_callable(typed)
            ) and does_nothing(value, functions):
                yield f"{owner.name}.{name}"


def test_no_attribute_does_nothing_by_default() -> None:
    """In none of the shipped modules."""
    found = {f"{source.module}:{name}" for source in shipped() for name in defaults(source.tree)}
    assert not found


def callables(tree: ast.Module) -> Iterator[str]:
    """The names of attributes that are annotated as a callable and have a value before anybody
    gives one.
    """
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(
                target=ast.Name(id=name) | ast.Attribute(attr=name),
                annotation=annotation,
                value=ast.expr(),
            ):
                if is_callable(annotation):
                    yield name


def set_later(tree: ast.Module, names: Collection[str]) -> Iterator[str]:
    """Attributes with one of these names that are assigned to another object than ``self``."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                continue
            case ast.Attribute(attr=name, ctx=ast.Store()) if name in names:
                yield ast.unparse(node)


def test_no_callback_is_set_into_a_finished_object() -> None:
    """Whatever its default is."""
    names = {name for source in shipped() for name in callables(source.tree)}
    assert not {
        f"{source.module}:{target}"
        for source in shipped()
        for target in set_later(source.tree, names)
    }


def shipped() -> Iterator[Source]:
    """Moorage's own modules."""
    return (source for source in sources() if source.layer not in ("kubefacts", "towtank"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def __init__(self): self.left: Callable[[str], None] = lambda _: None", ["A.left"]),
        ("def __init__(self): self.left = lambda: ()", ["A.left"]),
        ("def __init__(self): self.left = _nothing", ["A.left"]),
        ("left: Callable[[], str | None] = lambda: None", ["A.left"]),
        ("left: Callable[[], dict] = dict", ["A.left"]),
        ("left: Callable[[], None] = field(default=_nothing)", ["A.left"]),
        ("left: Callable[[], None] = field(default_factory=lambda: _nothing)", ["A.left"]),
        ("def __init__(self, left): self.left = left", []),
        ("def __init__(self, left): self.left = lambda: left", []),
        ("def __init__(self, kind): self.kind: type = dict", []),
        ("left: Callable[[], float] = time.monotonic", []),
    ],
)
def test_what_is_found(text: str, found: list[str]) -> None:
    """In constructors and in fields of classes; what has an effect is none."""
    assert (
        list(defaults(ast.parse(f'def _nothing():\n    """Nothing."""\nclass A:\n    {text}\n')))
        == found
    )


def test_what_is_set_later() -> None:
    """A callable that another object's attribute becomes; not one's own, and no plain value."""
    text = (
        "class A:\n    def __init__(self): self.left: Callable[[], None] | None = "
        "None\nself.a.left, self.b = f, 1\na.count = 1\n"
    )
    assert list(set_later(ast.parse(text), set(callables(ast.parse(text))))) == ["self.a.left"]
