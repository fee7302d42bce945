import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
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

const CALLED = `
echo called >> "${"$"}XDG_CACHE_HOME/../npm-calls"
[ "$1 $2" = "install --prefix" ] || exit 1`;
const WRITE = `
mkdir -p "$3/node_modules/.bin"
printf '#!/bin/sh\\necho 24\\n' > "$3/node_modules/.bin/node"
chmod +x "$3/node_modules/.bin/node"`;
const INSTALL = CALLED + WRITE;
/** Installs while another installation is under way, and breaks if that uses the same folder, as npm does. */
const INSTALL_BESIDE = `${CALLED}
mkdir "$3/node_modules" || exit 1
until [ "$(wc -l < "${"$"}XDG_CACHE_HOME/../npm-calls")" -ge 2 ]; do sleep 0.01; done
${WRITE}`;

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

test("two checkouts that install at the same time both get Node 24, from one installation", async () => {
  fake("node", "echo 20");
  fake("npm", INSTALL_BESIDE);
  const both = await Promise.all([source(), source()]);
  expect(both.map(({ stdout }) => stdout)).toEqual(["24\n", "24\n"]);
  const cache = join(folder, "cache", "halyard");
  expect([readdirSync(cache), readdirSync(join(cache, "node-24"))]).toEqual([["node-24"], ["node_modules"]]);
});

test("an installation that was interrupted is replaced", async () => {
  fake("node", "echo 20");
  fake("npm", INSTALL);
  mkdirSync(join(folder, "cache", "halyard", "node-24", "node_modules"), { recursive: true });
  expect((await source()).stdout).toBe("24\n");
});

test("when the download fails, no later command runs", async () => {
  fake("node", "echo 18");
  fake("npm", "exit 1");
  expect(await source()).toMatchObject({ ok: false, stdout: "" });
});
