#!/bin/sh
# Makes .venv, a virtual environment with geodrift in it, where it is missing or out of date, and then:
#   ./make.sh demo [OPTION...]   fits topics to installed documentation (options: geodrift demo --help)
#   ./make.sh test [OPTION...]   runs the tests (options: pytest's)
#   ./make.sh dev                does no more: the environment has what a contributor needs
set -eu
cd "$(dirname "$0")"

stop() {
  echo "make.sh: $1" >&2
  exit 1
}

# The first command of these that is Python 3.11 or newer.
find_python() {
  for candidate in python3.11 python3 python3.12 python3.13 python3.14; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  stop "no Python 3.11 or newer on PATH"
}

# environment [EXTRA]: installs geodrift and what an extra of pyproject.toml lists into .venv. The installation is
# editable: a change of the code needs no new one. One of pyproject.toml does, so .venv keeps a copy of it.
# The extra dev has what the others have.
environment() {
  installed=.venv/pyproject${1:+-$1}.toml
  if ! cmp -s pyproject.toml "$installed" && ! cmp -s pyproject.toml .venv/pyproject-dev.toml; then
    python=$(find_python)
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
      stop "$python cannot make virtual environments; install your system's python3-venv"
    echo "Installing geodrift${1:+[$1]} into .venv; the first time takes a minute or more." >&2
    "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable ".${1:+[$1]}"
    cp pyproject.toml "$installed"
  fi
  PATH=$PWD/.venv/bin:$PATH
  export PATH
}

task=${1-}
[ $# -eq 0 ] || shift
case $task in
demo)
  environment
  exec geodrift demo "$@"
  ;;
test)
  environment test
  exec python -m pytest "$@"
  ;;
dev) environment dev ;;
*) stop "say what to make: demo, test or dev" ;;
esac
