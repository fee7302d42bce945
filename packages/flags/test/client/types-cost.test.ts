/** What the compiler computes for a thousand declared flags, each created, changed and read. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const FLAGS = 1_000;
const MAX_INSTANTIATIONS = 1_250;

const KINDS = [
  { type: "boolean", declaration: "default: false", value: "true" },
  { type: "string", declaration: 'values: ["a", "b"], default: "a", variants: ["x", "y"]', value: '"b"' },
  { type: "number", declaration: "default: 1", value: "2" },
  {
    type: "json",
    declaration: 'default: { columns: 2, names: ["a"] }',
    value: '{ columns: 1, names: ["b"] }',
  },
] as const;

function programOf(count: number): string {
  const flags = Array.from({ length: count }, (_, i) => ({ key: `flag-${i}`, ...KINDS[(i % 4) as 0] }));
  const declarations = flags.map(
    ({ key, type, declaration }) => `"${key}": { type: "${type}", ${declaration} },`,
  );
  const uses = flags.map(
    ({ key, type, value }) => `
  await auth.api.createFeatureFlag({ body: { key: "${key}", name: "N", type: "${type}", defaultValue: ${value} } });
  await auth.api.updateFeatureFlag({ body: { id: "key:${key}", offValue: ${value} } });
  await admin.flags.update("${key}", { defaultValue: ${value} });
  await server.getValue("${key}", { headers }, ${value});`,
  );
  return `
import { createServerFlags, defineFlags, featureFlags } from "@halyard/flags";
import { featureFlagsAdminClient } from "@halyard/flags/admin-client";
import { betterAuth } from "better-auth";
import { createAuthClient } from "better-auth/client";
const flags = defineFlags({
${declarations.join("\n")}
});
const auth = betterAuth({ plugins: [featureFlags({ flags })] });
const server = createServerFlags(auth, flags);
const { admin } = createAuthClient({ plugins: [featureFlagsAdminClient({ flags })] }).featureFlags;
export async function use(headers: Headers): Promise<void> {
${uses.join("")}
}
`;
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "flags-types-cost-"));
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const config = { extends: join(ROOT, "tsconfig.json"), files: ["program.ts"], include: [] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
});
afterAll(() => rm(folder, { recursive: true }));

async function compile(count: number): Promise<{ instantiations: number; checkMs: number }> {
  await writeFile(join(folder, "program.ts"), programOf(count));
  const { stdout } = await promisify(execFile)(join(ROOT, "node_modules/.bin/tsc"), [
    ...["-p", folder, "--singleThreaded", "--extendedDiagnostics"],
  ]);
  const figure = (name: string) => Number(new RegExp(`^${name}:\\s*([\\d.]+)`, "m").exec(stdout)?.[1]);
  return { instantiations: figure("Instantiations"), checkMs: figure("Check time") * 1_000 };
}

test("a declared flag that is created, changed twice and read needs at most 1,250 instantiations", async () => {
  const [few, many] = [await compile(4), await compile(FLAGS)];
  const each = (many.instantiations - few.instantiations) / (FLAGS - 4);
  console.log(
    `Instantiations per flag: ${Math.round(each)}; ${FLAGS} flags are checked in ${Math.round(many.checkMs - few.checkMs)} ms`,
  );
  expect(each).toBeLessThanOrEqual(MAX_INSTANTIATIONS);
  expect(each).toBeGreaterThan(0);
}, 120_000);
