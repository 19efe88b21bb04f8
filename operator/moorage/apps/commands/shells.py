"""What shells need for completion, and where they look for it.

Each script asks ``moorage __complete`` (``completion``), and offers files where that knows nothing.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

BASH: Final = r"""# Completion of moorage in bash: moorage completion bash
_moorage() {
    local -a words=() found=()
    local IFS=$' \t\n' line="${COMP_LINE:0:COMP_POINT}" candidate directive=0
    read -a words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    local last="${words[${#words[@]}-1]}"
    # bash may break words at these: what stands before the break is not replaced, but the @ is
    local breaks="${COMP_WORDBREAKS//[^@:=]/}" before=""
    [[ -n $breaks && $last == *[$breaks]* ]] && before="${last%"${last##*[$breaks]}"}"
    before="${before%@}"
    while IFS= read -r candidate; do
        [[ $candidate == :[0-9]* ]] && { directive="${candidate#:}"; continue; }
        candidate="${candidate%%$'\t'*}"
        found+=("${candidate#"$before"}")
    done < <(moorage __complete "${words[@]:1}" 2>/dev/null)
    COMPREPLY=("${found[@]}")
    (( directive & 2 )) && compopt -o nospace 2>/dev/null
    return 0
}
complete -o default -F _moorage moorage kubectl-moorage
"""

ZSH: Final = r"""#compdef moorage kubectl-moorage
# Completion of moorage in zsh: moorage completion zsh
_moorage() {
    local -a plain described space
    local line value directive=0
    for line in "${(@f)$(moorage __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        if [[ $line == :<-> ]]; then directive=${line#:}; continue; fi
        value=${line%%$'\t'*}
        [[ -n $value ]] || continue
        described+=("${value//:/\\:}${${line#$value}/$'\t'/:}")
    done
    (( directive & 2 )) && space=(-S '')
    if (( $#described )); then _describe moorage described $space; else _files; fi
}
if [[ $funcstack[1] == _moorage ]]; then
    _moorage "$@"
else
    compdef _moorage moorage kubectl-moorage
fi
"""

FISH: Final = r"""# Completion of moorage in fish: moorage completion fish
function __moorage_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (moorage __complete $words[2..-1] 2>/dev/null | string match -rv '^:\d+$')
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c moorage -f -a '(__moorage_complete)'
complete -c kubectl-moorage -f -a '(__moorage_complete)'
"""

SCRIPTS: Final[Mapping[str, str]] = {"bash": BASH, "zsh": ZSH, "fish": FISH}
BASH_COMPLETION: Final = (
    Path("/usr/share/bash-completion/bash_completion"),
    Path("/usr/local/share/bash-completion/bash_completion"),
    Path("/opt/homebrew/etc/profile.d/bash_completion.sh"),
)
"""Of these one loads completions when they are needed; without it bash looks nowhere."""


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where a shell looks: the script's file, and a line that the shell's own file must have, ""
    for none.
    """

    script: Path
    startup: Path | None = None
    line: str = ""


def place(shell: str, home: Path, environment: Mapping[str, str]) -> Place:
    """Of this user."""
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    if shell == "fish":
        config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
        return Place(config / "fish" / "completions" / "moorage.fish")
    if shell == "zsh":
        script = data / "zsh" / "site-functions" / "_moorage"
        startup = Path(environment.get("ZDOTDIR") or home) / ".zshrc"
        begin = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }"
        return Place(script, startup, f"{begin}; source '{script}'")
    script = data / "bash-completion" / "completions" / "moorage"
    if any(path.is_file() for path in BASH_COMPLETION):
        return Place(script)
    return Place(script, home / ".bashrc", f"source '{script}'")


def install(shell: str, home: Path, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Put the script where the shell looks; what was done, a line each. A second time changes
    nothing. Raises OSError.
    """
    found = place(shell, home, environment)
    told = []
    if not found.script.is_file() or found.script.read_text("utf-8") != SCRIPTS[shell]:
        found.script.parent.mkdir(parents=True, exist_ok=True)
        found.script.write_text(SCRIPTS[shell], "utf-8")
        told.append(f"Wrote {found.script}.")
    if found.startup is not None:
        text = found.startup.read_text("utf-8") if found.startup.is_file() else ""
        if found.line not in text.splitlines():
            between = "\n" if text and not text.endswith("\n") else ""
            found.startup.write_text(f"{text}{between}{found.line}\n", "utf-8")
            told.append(f"Added a line to {found.startup}: {found.line}")
    return [*told, f"A new {shell} completes moorage."] if told else [_NOTHING.format(found.script)]


_NOTHING: Final = "Nothing to do: {} is there already."
