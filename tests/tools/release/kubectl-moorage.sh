#!/bin/sh
# Runs moorage @VERSION@ from an environment of its own, which the first call makes.
set -eu
here=$(dirname -- "$(readlink -f -- "$0")")
home=${XDG_CACHE_HOME:-$HOME/.cache}/moorage/@VERSION@
python=${PYTHON:-python3}

if [ ! -e "$home/ready" ]; then
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
        echo "kubectl moorage: needs Python 3.11 or newer: set PYTHON to one" >&2
        exit 1
    }
    mkdir -p "$(dirname -- "$home")"
    mkdir "$home.lock" 2> /dev/null || {
        echo "kubectl moorage: another call is installing it; if none is, remove $home.lock" >&2
        exit 1
    }
    trap 'rmdir "$home.lock"' EXIT
    echo "kubectl moorage: installing into $home, once" >&2
    rm -rf "$home"
    "$python" -m venv "$home"
    "$home/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$here/run.txt"
    "$home/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-index "$here"/*.whl
    touch "$home/ready"
    rmdir "$home.lock"
    trap - EXIT
fi
exec "$home/bin/kubectl-moorage" "$@"
