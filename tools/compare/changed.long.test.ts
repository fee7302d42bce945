/** That the comparison finds a difference. */
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { seedOfRun } from "../../packages/flags/test/engine/random.ts";
import { root } from "../repository.ts";
import { type Build, compareBuilds } from "./compare.ts";
import { type PartName, SIZES } from "./part.ts";

const seed = seedOfRun();
const build: Build = { name: "this checkout", folder: root };

function changed(from: string, to: string): Build {
  const url = pathToFileURL(`${import.meta.dirname}/fixtures/changed-build.ts`);
  url.search = new URLSearchParams({ from, to }).toString();
  return { ...build, name: "a changed build", preloads: [url.href] };
}

test.each<[PartName, string, string]>([
  ["evaluations", '"rule_match"', '"rule_matched"'],
  ["admin-writes", "Number(current) + 1", "Number(current) + 2"],
  ["session-changes", "organizationRole: membership.role", "organizationRole: membership.id"],
])(`%s: a changed answer is a difference (HALYARD_SEED=${seed})`, async (part, from, to) => {
  const builds = [build, changed(from, to)] as const;
  const size = SIZES[part].small;
  const compared = await compareBuilds({ part, builds, database: "sqlite", seed, size });
  const { entries, differing, differences } = compared;
  expect(differing).toBeGreaterThan(0);
  expect(differing).toBeLessThan(entries);
  expect(differences[0]?.texts[0]).not.toBe(differences[0]?.texts[1]);
});
