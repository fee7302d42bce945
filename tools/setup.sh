#!/usr/bin/env bash
# Prepares a fresh clone on any machine that has npm: Node 24 if needed, then the dependencies.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

. tools/node24.sh
npm ci

echo
echo "Ready on Node $(node -p process.versions.node)."
if [ -n "${halyard_node_home:-}" ]; then
  echo "The Node of your shell is older. Add this line to your shell profile:"
  echo "  export PATH=\"$halyard_node_home/node_modules/.bin:\$PATH\""
fi
