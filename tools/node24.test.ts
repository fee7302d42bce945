import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Finished, run } from "./process.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "halyard-node-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Adds a command to `bin` that replaces the real one. */
function fake(name: string, script: string): void {
  mkdirSync(join(folder, "bin"), { recursive: true });
  writeFileSync(join(folder, "bin", name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, "bin", name), 0o755);
}

/** Sources the script with the fake commands first on PATH, and prints the version of the Node it chose. */
function source(): Promise<Finished> {
  const env = { PATH: `${join(folder, "bin")}:/usr/bin:/bin`, XDG_CACHE_HOME: join(folder, "cache") };
  return run("bash", ["-c", "set -euo pipefail; . tools/node24.sh && node -p"], { env });
}

const INSTALL = `
echo called >> "${"$"}XDG_CACHE_HOME/../npm-calls"
[ "$1 $2" = "install --prefix" ] || exit 1
mkdir -p "$3/node_modules/.bin"
printf '#!/bin/sh\\necho 24\\n' > "$3/node_modules/.bin/node"
chmod +x "$3/node_modules/.bin/node"`;

test("a machine with Node 24 or later uses its own", async () => {
  fake("node", "echo 26");
  fake("npm", "exit 1");
  expect(await source()).toMatchObject({ ok: true, stdout: "26\n" });
});

test("a machine with an older Node downloads Node 24 into the cache folder once", async () => {
  fake("node", "echo 20");
  fake("npm", INSTALL);
  expect((await source()).stdout).toBe("24\n");
  rmSync(join(folder, "npm-calls"));
  expect((await source()).stdout).toBe("24\n");
  expect(existsSync(join(folder, "npm-calls"))).toBe(false);
});

test("when the download fails, no later command runs", async () => {
  fake("node", "echo 18");
  fake("npm", "exit 1");
  expect(await source()).toMatchObject({ ok: false, stdout: "" });
});
