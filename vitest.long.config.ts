import { defineConfig } from "vitest/config";

// The private condition makes every workspace import the sources, so tests need no build.
const conditions = ["@halyard/source"];

/** The full-size suites: they take minutes, run one at a time and write their results to docs/evidence. */
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    pool: "forks",
    // A busy machine may need much longer until a condition holds.
    expect: { poll: { timeout: 10_000 } },
    setupFiles: [`${import.meta.dirname}/vitest.seed.ts`],
    include: [
      "**/*.long.test.ts",
      // These run small in every test run.
      "packages/flags/test/client/no-flash.test.ts",
      "packages/flags/test/engine/{agreement,distribution,hostile-patterns}.test.ts",
      "packages/wire/test/hostile-frames.test.ts",
      "packages/wire/test/presence-model.test.ts",
      "packages/wire/test/client/{late-handlers,properties}.test.ts",
      "packages/wire/test/settlement-asks.test.ts",
      "packages/wire/test/streams-size.test.ts",
    ],
    exclude: ["**/node_modules/**", "**/dist/**"],
    // Two suites at the same time would distort each other's measurements.
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 120_000,
    env: {
      HALYARD_EVIDENCE: process.env["HALYARD_EVIDENCE"] ?? "1",
      HALYARD_FULL_SIZE: process.env["HALYARD_FULL_SIZE"] ?? "1",
    },
  },
});
