import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { seedOfRun } from "../../packages/flags/test/engine/random.ts";
import { root } from "../repository.ts";
import { type Build, compareBuilds } from "./compare.ts";
import { type PartName, SIZES } from "./part.ts";

const TIMEOUT_MS = 180_000;
const seed = seedOfRun();
const build: Build = { name: "this checkout", folder: root };

function changed(from: string, to: string): Build {
  const url = pathToFileURL(`${import.meta.dirname}/fixtures/changed-build.ts`);
  url.search = new URLSearchParams({ from, to }).toString();
  return { ...build, name: "a changed build", preloads: [url.href] };
}

const compare = (part: PartName, other: Build) =>
  compareBuilds({ part, builds: [build, other], database: "sqlite", seed, size: SIZES[part].small });

test.each(Object.keys(SIZES) as PartName[])(
  `%s: a build equals itself (HALYARD_SEED=${seed})`,
  {
    timeout: TIMEOUT_MS,
  },
  async (part) => {
    const { entries, differences } = await compare(part, build);
    expect(differences).toEqual([]);
    expect(entries).toBeGreaterThanOrEqual(SIZES[part].small);
  },
);

test.each<[PartName, string, string]>([
  ["evaluations", '"rule_match"', '"rule_matched"'],
  ["admin-writes", "Number(current) + 1", "Number(current) + 2"],
  ["session-changes", "organizationRole: membership.role", "organizationRole: membership.id"],
])(
  `%s: a changed answer is a difference (HALYARD_SEED=${seed})`,
  {
    timeout: TIMEOUT_MS,
  },
  async (part, from, to) => {
    const { entries, differing, differences } = await compare(part, changed(from, to));
    expect(differing).toBeGreaterThan(0);
    expect(differing).toBeLessThan(entries);
    expect(differences[0]?.texts[0]).not.toBe(differences[0]?.texts[1]);
  },
);
