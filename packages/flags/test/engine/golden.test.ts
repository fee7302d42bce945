import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { bunPath, launchChromium } from "@halyard/services";
import { startWorker } from "@halyard/services/worker";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { golden, type Outcome, runGolden } from "./golden.ts";
import { referenceHash } from "./reference.ts";

const fixture = (name: string): string => new URL(`../fixtures/${name}`, import.meta.url).pathname;

describe("bucketing", () => {
  const here = runGolden();

  test("matches the frozen vectors on Node", () => {
    expect(here.failures).toEqual([]);
    expect(here.checked).toBe(2_958);
  });

  test("uses vectors that equal the published hash of the UTF-8 bytes of id, key and suffix", () => {
    for (const { key, rollout, variant, rule } of golden.hashes) {
      const hashes = (rest: string) => golden.ids.map((id) => referenceHash(`${id}:${key}${rest}`));
      expect([rollout, variant, rule]).toEqual([hashes(""), hashes(":variant"), hashes(":rule:s1")]);
    }
  });

  test("and evaluation give the same results on Bun", async () => {
    const args = ["--conditions=@halyard/source", fixture("golden-program.ts")];
    const { stdout } = await promisify(execFile)(bunPath(), args, { timeout: 30_000 });
    expect(JSON.parse(stdout)).toEqual(here);
  }, 40_000);

  test("and evaluation give the same results on workerd", async () => {
    const worker = await startWorker({ entry: fixture("golden-worker.ts") });
    try {
      const response = await fetch(worker.url.replace("ws:", "http:"));
      expect(await response.json()).toEqual(here);
    } finally {
      await worker.stop();
    }
  }, 40_000);

  test("and evaluation give the same results in Chromium", async () => {
    const { outputFiles } = await build({
      entryPoints: [fixture("golden-page.ts")],
      bundle: true,
      write: false,
      format: "iife",
      target: "es2022",
      conditions: ["@halyard/source"],
    });
    const browser = await launchChromium();
    try {
      const page = await (await browser.newContext()).newPage();
      await page.addScriptTag({ content: outputFiles[0]?.text ?? "" });
      const there = await page.evaluate(() =>
        (globalThis as unknown as { runGolden(): Outcome }).runGolden(),
      );
      expect(there).toEqual(here);
    } finally {
      await browser.close();
    }
  }, 40_000);
});
