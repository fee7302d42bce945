import { defineConfig } from "vitest/config";

// The private condition makes every workspace import the sources, so tests need no build.
const conditions = ["@halyard/source"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    pool: "forks",
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // A condition that is waited for may take its time on a machine that is busy with other things.
    expect: { poll: { timeout: 10_000 } },
    setupFiles: [`${import.meta.dirname}/vitest.seed.ts`],
    projects: ["packages/wire", "packages/flags", "services", "tools", "bench"].map((root) => ({
      extends: true as const,
      test: {
        name: root.replace("packages/", ""),
        root,
        include: ["**/*.test.ts"],
        exclude: ["**/node_modules/**", "**/dist/**", "**/*.long.test.ts"],
      },
    })),
  },
});
