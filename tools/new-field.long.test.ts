import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Copy, createCopy } from "./copy.ts";
import { bin, run } from "./process.ts";
import { read } from "./repository.ts";

const TIMEOUT_MS = 10 * 60_000;

const FIELDS = "packages/flags/src/model/flag.ts";
const BEFORE = "  /** The type of all values of the flag. */\n";
const FIELD = '  /** Who answers for the flag. */ owner: { kind: "text", optional: true },\n';

/** Uses the field in every type that has it. */
const TYPED = `import type { FeatureFlagsAdminActions } from "./client/admin-client.ts";
import type { CreateFeatureFlagInput, FeatureFlag, FeatureFlagPatch } from "./model/flag.ts";
import type { FeatureFlagTableNames } from "./model/tables.ts";

export const input: CreateFeatureFlagInput = { key: "moon", name: "Moon", type: "boolean", owner: "Ada" };
export const patch: FeatureFlagPatch = { owner: null };
export const names: FeatureFlagTableNames = { featureFlag: { fields: { owner: "owned_by" } } };
export async function ownerOf({ flags }: FeatureFlagsAdminActions): Promise<string | undefined> {
  const { data } = await flags.update("key:moon", { owner: "Ada" });
  const flag: FeatureFlag | null = data;
  return flag?.owner;
}
`;

/** Uses the field as server code, and prints where it is. */
const PROGRAM = `import { featureFlags } from "@halyard/flags";
import { betterAuth } from "better-auth";
import { openAPI } from "better-auth/plugins";
import { differencesOf } from "../../console/app/src/history/difference.ts";

const plugin = featureFlags();
const auth = betterAuth({
  baseURL: "http://localhost:3000",
  secret: "a secret that is only good enough for this test, which is all it does",
  plugins: [openAPI(), plugin],
});
const body = { key: "moon", name: "Moon", type: "boolean", owner: "Ada" };
const { id, owner: created } = await auth.api.createFeatureFlag({ body });
const params = { id };
const refused = await auth.api.updateFeatureFlag({ params, body: { owner: 7 } }).catch((error) => error.status);
await auth.api.updateFeatureFlag({ params, body: { owner: null } });
const { entries } = await auth.api.listFeatureFlagAuditEntries();
const differences = differencesOf(entries[0].before, entries[0].after);
await auth.api.revertFeatureFlagAuditEntry({ params: { id: entries[0].id } });
const { owner: reverted } = await auth.api.getFeatureFlag({ params });
const { paths } = await auth.api.generateOpenAPISchema();
const { post } = paths["/feature-flags/admin/flags"];
const documented = [post.requestBody, post.responses["201"]].map(
  ({ content }) => content["application/json"].schema.properties.owner,
);
const column = plugin.schema.featureFlag.fields.owner;
console.log(JSON.stringify({ created, refused, differences, reverted, documented, column: column.type }));
process.exit();
`;

let copy: Copy | undefined;

beforeAll(() => {
  copy = createCopy();
}, TIMEOUT_MS);
afterAll(() => copy?.remove());

test("a new optional field of a flag is one line in one file", { timeout: TIMEOUT_MS }, async () => {
  if (copy === undefined) throw new Error("The copy was not made.");
  const { folder, withFiles } = copy;
  const fields = read(FIELDS).replace(BEFORE, FIELD + BEFORE);
  expect(fields).not.toBe(read(FIELDS));
  const files = { [FIELDS]: fields, "packages/flags/src/moon.ts": TYPED };
  await withFiles(files, async () => {
    const built = await run(bin("tsc"), ["-b", "tsconfig.build.json", "--pretty", "false"], { cwd: folder });
    expect(built.ok, built.output).toBe(true);
    const program = join(folder, "packages/flags/test/moon.ts");
    mkdirSync(dirname(program), { recursive: true });
    writeFileSync(program, PROGRAM);
    const { ok, output, stdout } = await run(process.execPath, ["--conditions=@halyard/source", program], {
      cwd: folder,
    });
    expect(ok, output).toBe(true);
    expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toEqual({
      created: "Ada",
      refused: 400,
      differences: [{ path: "owner", before: "Ada" }],
      reverted: "Ada",
      documented: [expect.objectContaining({ type: "string" }), expect.objectContaining({ type: "string" })],
      column: "string",
    });
  });
});
