#!/usr/bin/env bash
# Gradescope runs this once, as root, when the autograder is built. Grading itself needs no network.
set -euo pipefail
root="${AUTOGRADER_ROOT:-/autograder}"
export DEBIAN_FRONTEND=noninteractive

apt-get update -qq
apt-get install -y -qq bubblewrap

supported='import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))'
for name in python3.13 python3.12 python3.11 python3; do
  if "$name" -c "$supported" 2>/dev/null && "$name" -c 'import ensurepip' 2>/dev/null; then
    python="$name"
    break
  fi
done
if [ -z "${python:-}" ]; then
  apt-get install -y -qq python3.11 python3.11-venv
  python=python3.11
fi

"$python" -m venv "$root/venv"
"$root/venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$root/source/requirements.txt"
