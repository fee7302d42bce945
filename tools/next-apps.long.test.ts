import { join } from "node:path";
import { expect, test } from "vitest";
import { run } from "./process.ts";
import { root } from "./repository.ts";

const TIMEOUT_MS = 30 * 60_000;

test(
  "the app of the page about Next.js works with Turbopack and with webpack, on SQLite and on PostgreSQL",
  async () => {
    const args = [join(root, "tools/rehearse.ts"), "flags: whole app in Next.js"];
    const { output, ok } = await run(process.execPath, args, { timeoutMs: TIMEOUT_MS });
    expect(ok, output).toBe(true);
    expect(output.match(/✓ flags: whole app in Next\.js/g)).toHaveLength(4);
  },
  TIMEOUT_MS + 60_000,
);
