import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

// The private condition makes every workspace import the sources, so tests need no build.
const conditions = ["@halyard/source"];

// Many files wait for servers, timers and browsers most of the time, so two cores have work for four workers.
// More cores get one worker each: every worker opens database connections, and those are limited.
const maxWorkers = Math.max(4, availableParallelism());

/** Tests of these check or replace what is one per process. */
const OWN_PROCESS = "(serve.test.ts|router-options-pubsub.test.ts)";

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    pool: "forks",
    maxWorkers,
    // Ends a test that hangs. It is no bound on speed: a busy machine is several times slower.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A busy machine may need much longer until a condition holds.
    expect: { poll: { timeout: 10_000 } },
    setupFiles: [`${import.meta.dirname}/vitest.seed.ts`],
    projects: [
      "packages/base",
      "packages/sessions",
      "packages/wire",
      "packages/flags",
      "packages/devtools",
      "packages/console",
      "services",
      "tools",
      "bench",
    ].flatMap((root) => {
      const name = root.replace("packages/", "");
      const exclude = ["**/node_modules/**", "**/dist/**", "**/*.long.test.ts"];
      return [
        {
          extends: true as const,
          test: {
            name,
            root,
            include: ["**/*.test.ts"],
            exclude: [...exclude, "src/**", `test/spec/!${OWN_PROCESS}`],
          },
        },
        // These need no process of their own: loading the modules takes longer than running most of them.
        {
          extends: true as const,
          test: { name: `${name} units`, root, include: ["src/**/*.test.ts"], exclude, isolate: false },
        },
        {
          extends: true as const,
          test: {
            name: `${name} spec`,
            root,
            include: ["test/spec/*.test.ts"],
            exclude: [...exclude, `test/spec/${OWN_PROCESS}`],
            isolate: false,
          },
        },
      ];
    }),
  },
});
