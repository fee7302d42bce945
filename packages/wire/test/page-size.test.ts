import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { expect, test } from "vitest";

const PAGE = fileURLToPath(new URL("fixtures/page-with-zod.ts", import.meta.url));
/** All of Zod takes 90 kB. */
const MAX_BYTES = 30_000;

test("a page with Zod schemas, built by Vite, contains only the parts of Zod that it uses", async () => {
  const result = await build({
    configFile: false,
    logLevel: "error",
    resolve: { conditions: ["@halyard/source", "module", "browser"] },
    build: { write: false, rolldownOptions: { input: PAGE, preserveEntrySignatures: "strict" } },
  });
  if (!("output" in result)) throw new Error("Vite returned no single build.");
  const code = result.output.map((part) => (part.type === "chunk" ? part.code : "")).join("");
  expect(code).toContain("SAY_OK");
  expect(gzipSync(code).byteLength).toBeLessThan(MAX_BYTES);
});
