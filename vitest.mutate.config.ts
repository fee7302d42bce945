import { readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";

const conditions = ["@halyard/source"];
const packages = `${import.meta.dirname}/packages`;

/** Stryker mutates a copy of the repository, but the links in node_modules lead to the original. */
const alias = ["base", "flags", "sessions"].flatMap((folder) => {
  const { exports } = JSON.parse(readFileSync(`${packages}/${folder}/package.json`, "utf8"));
  return Object.entries<{ "@halyard/source"?: string }>(exports).flatMap(
    ([name, { "@halyard/source": source }]) =>
      source === undefined
        ? []
        : [
            {
              find: new RegExp(`^@halyard/${folder}${name.slice(1)}$`),
              replacement: `${packages}/${folder}/${source}`,
            },
          ],
  );
});

/** The tests that `npm run mutate` runs for each mutant: those that are fast and need no service. */
const include = (process.env["HALYARD_TESTS"] ?? "src/**/*.test.ts").split(",");

export default defineConfig({
  resolve: { conditions, alias },
  ssr: { resolve: { conditions } },
  test: {
    // The folder of the package whose tests run. They may cover the sources of another one.
    root: `${packages}/${process.env["HALYARD_PACKAGE"] ?? "flags"}`,
    pool: "forks",
    maxWorkers: 1,
    // Loading the dependencies again for each mutant would take most of the time. With more than one file Stryker would
    // count the coverage of one only, and report the mutants of the others as not covered.
    isolate: include.length > 1 || include.some((name) => name.includes("*")),
    testTimeout: 60_000,
    hookTimeout: 120_000,
    setupFiles: [`${import.meta.dirname}/vitest.seed.ts`],
    include,
    exclude: ["**/node_modules/**", "**/*.long.test.ts"],
  },
});
