import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Copy, createCopy } from "./copy.ts";
import { bin, type Finished, run } from "./process.ts";
import { read } from "./repository.ts";

const TIMEOUT_MS = 10 * 60_000;

const LIST = "packages/flags/src/server/operations/list.ts";
const FILE = "packages/flags/src/server/operations/moon.ts";

const OPERATION = `/** The phase of the moon: \`GET /feature-flags/admin/moon\`. */
import { admitToTenants } from "../access/admission.ts";
import { objectOf, string } from "../http/openapi.ts";
import type { Get, NoQuery, Operation } from "./definition.ts";

/** Gives the phase of the moon. Needs \`read\`. */
export const getFeatureFlagMoon: Operation<Get<"/feature-flags/admin/moon", NoQuery, { phase: string }>> = {
  summary: "The phase of the moon",
  method: "GET",
  path: "/feature-flags/admin/moon",
  scope: "server",
  action: "read",
  rateLimit: "admin",
  result: () => objectOf({ phase: string }, ["phase"]),
  async run(call) {
    await admitToTenants(call);
    return { phase: "full" };
  },
};
`;

/** Uses the operation as server code and over HTTP, and prints what it gets. */
const PROGRAM = `import { featureFlags } from "@halyard/flags";
import { betterAuth } from "better-auth";
import { openAPI } from "better-auth/plugins";

const auth = betterAuth({
  baseURL: "http://localhost:3000",
  secret: "a secret that is only good enough for this test, which is all it does",
  rateLimit: { enabled: true },
  plugins: [openAPI(), featureFlags({ rateLimit: { rules: { admin: { max: 2, windowSeconds: 60 } } } })],
});
const { phase }: { phase: string } = await auth.api.getFeatureFlagMoon();
const statuses: number[] = [];
for (let request = 0; request < 3; request++) {
  const headers = { "x-forwarded-for": "198.51.100.7" };
  const response = await auth.handler(
    new Request("http://localhost:3000/api/auth/feature-flags/admin/moon", { headers }),
  );
  statuses.push(response.status);
}
const { paths } = await auth.api.generateOpenAPISchema();
console.log(JSON.stringify({ phase, statuses, documented: "/feature-flags/admin/moon" in paths }));
process.exit();
`;

let copy: Copy | undefined;

beforeAll(() => {
  copy = createCopy();
}, TIMEOUT_MS);
afterAll(() => copy?.remove());

/** Builds a copy of the repository in which flags has one operation more. */
async function buildWith(
  operation: string,
  action?: (folder: string) => Promise<Finished>,
): Promise<Finished> {
  if (copy === undefined) throw new Error("The copy was not made.");
  const { folder, withFiles } = copy;
  const files = { [FILE]: operation, [LIST]: `${read(LIST)}export * from "./moon.ts";\n` };
  return withFiles(files, async () => {
    const built = await run(bin("tsc"), ["-b", "tsconfig.build.json", "--pretty", "false"], { cwd: folder });
    return built.ok && action !== undefined ? action(folder) : built;
  });
}

function without(line: string): string {
  const text = OPERATION.replace(`  ${line}\n`, "");
  expect(text).not.toBe(OPERATION);
  return text;
}

test("a new HTTP operation is one new file and one line in the list", { timeout: TIMEOUT_MS }, async () => {
  const { ok, output, stdout } = await buildWith(OPERATION, (folder) => {
    const program = join(folder, "packages/flags/test/moon.ts");
    mkdirSync(dirname(program), { recursive: true });
    writeFileSync(program, PROGRAM);
    return run(process.execPath, ["--conditions=@halyard/source", program], { cwd: folder });
  });
  expect(ok, output).toBe(true);
  // Anonymous requests lack the permission, and the third exceeds the rate limit.
  expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toEqual({
    phase: "full",
    statuses: [401, 401, 429],
    documented: true,
  });
});

test.for([
  ["permission", 'action: "read",', "action"],
  ["rate-limit rule", 'rateLimit: "admin",', "rateLimit"],
] as const)(
  "the build fails on an operation without a %s",
  { timeout: TIMEOUT_MS },
  async ([, line, field]) => {
    const { ok, output } = await buildWith(without(line));
    expect(ok).toBe(false);
    expect(output).toContain(`${FILE}(`);
    expect(output).toContain(`'${field}'`);
  },
);
