# Puts a Node of version 24 or later first on PATH. Source it from bash: . tools/node24.sh
# If the machine's Node is older, the npm package `node` is installed once in the user's cache folder.

halyard_node_major="$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)"

if [ "$halyard_node_major" -lt 24 ]; then
  if ! command -v npm >/dev/null; then
    echo "Halyard needs Node 24 or later, and there is no npm to install it with. Install Node: https://nodejs.org" >&2
    return 1
  fi
  halyard_node_home="${XDG_CACHE_HOME:-$HOME/.cache}/halyard/node-24"
  if [ ! -x "$halyard_node_home/node_modules/.bin/node" ]; then
    echo "Node is older than 24: installing Node 24 in $halyard_node_home" >&2
    mkdir -p "$halyard_node_home" &&
      npm install --prefix "$halyard_node_home" --no-audit --no-fund --loglevel=error node@24 </dev/null >&2 ||
      return 1
  fi
  export PATH="$halyard_node_home/node_modules/.bin:$PATH"
  hash -r
fi
