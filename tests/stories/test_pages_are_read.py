"""How a page is read, and what counts as printed."""

from __future__ import annotations

import pytest

from tests.stories.pages import Command, File, Manifest, PageError, given, left_out, missing, steps

PAGE = """
Write a file:

```yaml title="a.yaml"
kind: A
```

1. In a list:

    ```console
    $ kubectl apply \\
        -f a.yaml
    a created
    $ true
    $ false
    # exit status 1
    $ moorage check
    a  bad
    # exit status 2
    ```

<!-- not run: needs an image -->

```sh
docker build .
```

```yaml
kind: B
```

```python title="b.py"
pass
```
"""


def test_steps() -> None:
    """Files and commands, with the lines on which they are, and the status that is not 0."""
    assert list(steps(PAGE)) == [
        File(4, "a.yaml", "kind: A\n"),
        Command(11, "kubectl apply \\\n    -f a.yaml", ("a created",)),
        Command(14, "true", ()),
        Command(15, "false", (), 1),
        Command(17, "moorage check", ("a  bad",), 2),
        Manifest(28, "kind: B\n"),
        File(32, "b.py", "pass\n"),
    ]


@pytest.mark.parametrize("head", ["sh", "", "bash"])
def test_what_is_not_run_says_why(head: str) -> None:
    """Nothing is left out in silence; a comment of another block does not count."""
    with pytest.raises(PageError, match="line 1"):
        list(steps(f"```{head}\nls\n```"))
    with pytest.raises(PageError, match="line 8"):
        list(steps(f"<!-- not run: x -->\n\n```sh\nls\n```\n\n\n```{head}\nls\n```"))


def test_a_block_has_a_fence() -> None:
    """One that is only indented would be passed over; text of a list is no block."""
    with pytest.raises(PageError, match="line 3: a block without a fence"):
        list(steps("Type:\n\n    ls\n"))
    with pytest.raises(PageError, match="line 5"):
        list(steps("* one\n\nType:\n\n    ls\n"))
    assert not list(steps("1. one\n    goes on\n\n    and on\n"))


def test_what_is_given() -> None:
    """A comment on a line of its own names it."""
    assert given("# A\n\n<!-- given: a.yaml -->\n") == "a.yaml"
    assert given("# A\n\nSay `<!-- given: a.yaml -->`.\n") is None


@pytest.mark.parametrize(
    ("expected", "printed", "lacking"),
    [
        (["NAME  READY", "a … True"], "NAME   READY\na    5s   True\n", None),
        (["b", "a"], "a\nb\n", "a"),
        (["a"], "ab", "a"),
        (["a…"], "ab", None),
        (["…(x)"], "y(x)", None),
        ([], "", None),
    ],
)
def test_missing(expected: list[str], printed: str, lacking: str | None) -> None:
    """Whole lines, in order."""
    assert missing(expected, printed) == lacking


@pytest.mark.parametrize(
    ("page", "real", "embedded"),
    [
        ("<!-- skipped: needs x -->\n\n# A", "needs x", "needs x"),
        ("<!-- only on kube-apiserver: needs y -->\n\n# A", None, "needs y"),
        ("# A\n\n<!-- skipped: needs x -->\n", None, None),
    ],
)
def test_left_out(page: str, real: str | None, embedded: str | None) -> None:
    """The first line alone says so."""
    assert (left_out(page, embedded=False), left_out(page, embedded=True)) == (real, embedded)
