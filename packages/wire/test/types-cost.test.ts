/** What the compiler computes for a schema with its handler and its call, compared with functions typed by hand. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const REQUESTS = 101;
const MAX_RATIO = 1.35;

const PAYLOAD =
  "{ id: z.string(), n: z.number().optional(), tags: z.array(z.object({ k: z.string(), v: z.union([z.string(), z.number()]) })) }";
const RESPONSE = "{ items: z.array(z.object({ id: z.string(), at: z.iso.datetime() })) }";
const HANDLER =
  '(ctx) => ({ items: [{ id: ctx.payload.id + ctx.data.userId, at: ctx.payload.tags[0]?.k ?? "" }] })';
const INPUT = '{ id: "a", tags: [{ k: "k", v: 1 }] }';

interface Program {
  readonly head: string;
  readonly request: (i: number) => string;
}

/** The lower bound: pairs of Zod's schemas, and functions over Zod's own inference. */
const BY_HAND: Program = {
  head: `import { z } from "zod";
interface Context<Payload> { readonly payload: Payload; readonly data: { clientId: string; userId: string } }
type Pair<P, R> = readonly [request: P, response: R];
declare function handle<P, R>(pair: Pair<P, R>, handler: (ctx: Context<z.output<P>>) => z.input<R> | Promise<z.input<R>>): void;
declare function call<P, R>(pair: Pair<P, R>, payload: z.input<P>): Promise<{ payload: z.output<R> }>;`,
  request: (i) => `export const R${i} = [z.object(${PAYLOAD}), z.object(${RESPONSE})] as const;
handle(R${i}, ${HANDLER});
(await call(R${i}, ${INPUT})).payload.items[0]?.at.slice();`,
};

const BY_WIRE: Program = {
  head: `import { wsClient } from "@halyard/wire/client";
import { requireAuth } from "@halyard/wire/middleware";
import { createRouter, rpc, z } from "@halyard/wire/zod";
const client = wsClient({ url: "ws://localhost" });
const router = createRouter<{ clientId: string; userId: string }>().use(requireAuth());`,
  request: (i) => `export const R${i} = rpc("R${i}", ${PAYLOAD}, "R${i}_OK", ${RESPONSE});
router.rpc(R${i}, ${HANDLER});
(await client.request(R${i}, ${INPUT})).payload.items[0]?.at.slice();`,
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "types-cost-"));
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
});
afterAll(() => rm(folder, { recursive: true }));

async function countInstantiations({ head, request }: Program, count: number): Promise<number> {
  const requests = Array.from({ length: count }, (_, i) => request(i));
  await writeFile(join(folder, "program.ts"), [head, ...requests].join("\n"));
  const config = { extends: join(ROOT, "tsconfig.json"), files: ["program.ts"], include: [] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  const { stdout } = await promisify(execFile)(join(ROOT, "node_modules/.bin/tsc"), [
    ...["-p", folder, "--singleThreaded", "--extendedDiagnostics"],
  ]);
  return Number(/^Instantiations:\s*(\d+)$/m.exec(stdout)?.[1]);
}

/** Without what a program costs that has one request: reading the sources of wire and Zod. */
async function costOf(program: Program): Promise<number> {
  return (await countInstantiations(program, REQUESTS)) - (await countInstantiations(program, 1));
}

test("a request with its handler and its call needs at most 1.35 times the instantiations of functions typed by hand", async () => {
  const [byHand, byWire] = [await costOf(BY_HAND), await costOf(BY_WIRE)];
  console.log(
    `Instantiations per request: ${byWire / (REQUESTS - 1)}, by hand ${byHand / (REQUESTS - 1)}, ratio ${(byWire / byHand).toFixed(2)}`,
  );
  expect(byHand).toBeGreaterThan(0);
  expect(byWire / byHand).toBeLessThanOrEqual(MAX_RATIO);
}, 120_000);
