#!/usr/bin/env bash
# Makes a fresh clone ready to work in, on any machine that has npm: a new enough Node, then the dependencies.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

. tools/node24.sh
npm ci

echo
echo "Ready on Node $(node -p process.versions.node)."
if [ -n "${halyard_node_home:-}" ]; then
  echo "Your shell's own Node is older. Add this line to its profile:"
  echo "  export PATH=\"$halyard_node_home/node_modules/.bin:\$PATH\""
fi
