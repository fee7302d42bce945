import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { compileGuide } from "./guide.ts";

/** Prints the files that a compiler would read. */
const COMPILER = `
const { globSync } = require("node:fs");
const { dirname } = require("node:path");
const project = process.argv[process.argv.indexOf("-p") + 1];
for (const file of globSync("**/*.{ts,tsx}", { cwd: dirname(project) })) console.log(dirname(project) + "/" + file);
`;

test("compilations at the same time share no file that one of them writes", async () => {
  const folder = mkdtempSync(join(tmpdir(), "halyard-guide-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const compilers = ["oldest", "last5"] as const;
  for (const compiler of compilers) {
    const bin = join(folder, "node_modules", `typescript-${compiler}`, "bin");
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, "tsc"), COMPILER);
  }
  const outcomes = await Promise.all(compilers.map((compiler) => compileGuide(folder, compiler)));
  const [one, other] = outcomes.map(({ output }) => output.trim().split("\n"));
  expect(one?.length).toBeGreaterThan(50);
  expect(one?.filter((file) => other?.includes(file))).toEqual([]);
});
