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
    mkdir -p "${halyard_node_home%/*}" || return 1
    # Only an interrupted installation of an earlier version has the name without the program.
    [ ! -e "$halyard_node_home" ] || [ -x "$halyard_node_home/node_modules/.bin/node" ] || rm -rf "$halyard_node_home"
    # Another checkout may install at the same time, so the folder gets its name when it is complete.
    halyard_node_new="$(mktemp -d "$halyard_node_home.XXXXXX")" || return 1
    if ! npm install --prefix "$halyard_node_new" --no-audit --no-fund --loglevel=error node@24 </dev/null >&2; then
      rm -rf "$halyard_node_new"
      return 1
    fi
    # If another checkout was first, `mv` fails or moves this folder into the other one.
    mv "$halyard_node_new" "$halyard_node_home" 2>/dev/null || true
    rm -rf "$halyard_node_new" "$halyard_node_home/${halyard_node_new##*/}"
    [ -x "$halyard_node_home/node_modules/.bin/node" ] || return 1
  fi
  export PATH="$halyard_node_home/node_modules/.bin:$PATH"
  hash -r
fi
