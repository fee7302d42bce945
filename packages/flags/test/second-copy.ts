/** A second copy of the packages in this process, with modules of its own, as a bundler makes one. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll } from "vitest";

/** Loads the names of these entry points. Everything but our packages is shared with the first copy. */
export async function loadSecondCopy<Names>(...entries: readonly string[]): Promise<Names> {
  const folder = join(import.meta.dirname, "../.tmp");
  mkdirSync(folder, { recursive: true });
  const own = mkdtempSync(join(folder, "second-copy-"));
  afterAll(() => rmSync(own, { recursive: true }));
  const outfile = join(own, "copy.mjs");
  await build({
    stdin: {
      contents: entries.map((entry) => `export * from ${JSON.stringify(entry)};`).join("\n"),
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    format: "esm",
    platform: "node",
    conditions: ["@halyard/source"],
    external: ["better-auth", "better-auth/*", "@better-auth/*", "@halyard/wire", "@opentelemetry/*", "#app"],
    outfile,
    logLevel: "error",
  });
  return import(outfile);
}
