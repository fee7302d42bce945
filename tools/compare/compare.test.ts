import { expect, test } from "vitest";
import { seedOfRun } from "../../packages/flags/test/engine/random.ts";
import { root } from "../repository.ts";
import { type Build, compareBuilds } from "./compare.ts";
import { type PartName, SIZES } from "./part.ts";

const seed = seedOfRun();
const build: Build = { name: "this checkout", folder: root };

test.each(Object.keys(SIZES) as PartName[])(
  `%s: a build equals itself (HALYARD_SEED=${seed})`,
  {
    timeout: 180_000,
  },
  async (part) => {
    const size = SIZES[part].small;
    const builds = [build, build] as const;
    const { entries, differences } = await compareBuilds({ part, builds, database: "sqlite", seed, size });
    expect(differences).toEqual([]);
    expect(entries).toBeGreaterThanOrEqual(size);
  },
);
