import { defineConfig } from "vitest/config";

// The private condition makes every workspace import the sources, so tests need no build.
const conditions = ["@halyard/source"];

/** The suites at full size: minutes instead of seconds, one at a time, their results written to docs/evidence. */
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    pool: "forks",
    // A condition that is waited for may take its time on a machine that is busy with other things.
    expect: { poll: { timeout: 10_000 } },
    setupFiles: [`${import.meta.dirname}/vitest.seed.ts`],
    include: ["**/*.long.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**"],
    // Two suites at once would measure each other.
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 120_000,
    env: { HALYARD_EVIDENCE: process.env["HALYARD_EVIDENCE"] ?? "1" },
  },
});
