import { expect, test } from "vitest";
import { type Finished, run } from "./process.ts";
import { readManifest } from "./repository.ts";

const GUARD = "node tools/require-node.mjs && ";

/** Runs the guard on a Node that says it has this version. */
function runOn(version: string): Promise<Finished> {
  const code = `Object.defineProperty(process, "versions", { value: { node: "${version}" } })`;
  const preload = `data:text/javascript,${encodeURIComponent(code)}`;
  return run(process.execPath, ["--import", preload, "tools/require-node.mjs"]);
}

test.for(["18.20.0", "20.20.2", "22.18.0"])(
  "Node %s is refused with one line that names the remedy",
  async (version) => {
    const { ok, output } = await runOn(version);
    expect(ok).toBe(false);
    expect(output).toMatch(/^Halyard needs Node 24 or later, and this is [\d.]+\. Run `npm run setup`.*\n$/);
  },
);

test.for(["24.0.0", "26.1.0"])("Node %s is accepted without output", async (version) => {
  expect(await runOn(version)).toMatchObject({ ok: true, output: "" });
});

test("every script that needs Node 24 checks the version first", () => {
  const scripts = Object.entries(readManifest(".").scripts ?? {});
  const needsNode24 = scripts.filter(([, script]) => /\bnode \S+\.ts\b|\bvitest\b/.test(script));
  expect(needsNode24.map(([name]) => name)).toEqual(
    expect.arrayContaining(["services", "check", "test", "test:long", "bench"]),
  );
  expect(needsNode24.filter(([, script]) => !script.startsWith(GUARD))).toEqual([]);
});
