# Puts a Node of version 24 or later first on PATH. Source it from bash: . tools/node24.sh
# An older machine gets the npm package `node`, once, in the user's cache folder; the machine's own Node stays.

halyard_node_major="$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)"

if [ "$halyard_node_major" -lt 24 ]; then
  if ! command -v npm >/dev/null; then
    echo "Halyard needs Node 24 or later, and found no npm to fetch it with. Install Node: https://nodejs.org" >&2
    return 1
  fi
  halyard_node_home="${XDG_CACHE_HOME:-$HOME/.cache}/halyard/node-24"
  if [ ! -x "$halyard_node_home/node_modules/.bin/node" ]; then
    echo "This Node is older than 24: fetching one into $halyard_node_home" >&2
    mkdir -p "$halyard_node_home" &&
      npm install --prefix "$halyard_node_home" --no-audit --no-fund --loglevel=error node@24 </dev/null >&2 ||
      return 1
  fi
  export PATH="$halyard_node_home/node_modules/.bin:$PATH"
  hash -r
fi
