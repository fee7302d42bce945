import { afterAll, describe, expect, test, vi } from "vitest";
import { type Copy, createCopy } from "./copy.ts";
import { read } from "./repository.ts";

// A check of the whole repository takes its time, and on a busy machine several times that.
vi.setConfig({ testTimeout: 120_000 });

interface Break {
  /** Completes "… fails the check". */
  readonly title: string;
  readonly step: string;
  readonly file: string;
  readonly text: string;
  /** What the message must name, so that one finds the place. */
  readonly names: readonly string[];
}

const BREAKS: readonly Break[] = [
  {
    title: "an import from a room that may not be known",
    step: "format and lint",
    file: "packages/wire/src/protocol/broken.ts",
    text: 'import { createRouter } from "../router/router.ts";\n\nexport const router: unknown = createRouter();\n',
    names: ["packages/wire/src/protocol/broken.ts:1", "protocol/ is what both ends share"],
  },
  {
    title: "an import of wire outside flags/live",
    step: "format and lint",
    file: "packages/flags/src/server/broken.ts",
    text: 'import { WsError } from "@halyard/wire";\n\nexport const error: unknown = WsError;\n',
    names: ["packages/flags/src/server/broken.ts:1", "Only flags/live may import @halyard/wire"],
  },
  {
    title: "an import of a package that is not declared",
    step: "format and lint",
    file: "packages/wire/src/router/broken.ts",
    text: 'import { Kysely } from "kysely";\n\nexport const database: unknown = Kysely;\n',
    names: ["packages/wire/src/router/broken.ts:1", "noUndeclaredDependencies"],
  },
  {
    title: "a promise that nobody waits for",
    step: "promises",
    file: "packages/wire/src/router/broken.ts",
    text: "export function start(): void {\n  Promise.resolve();\n}\n",
    names: ["packages/wire/src/router/broken.ts:2", "no-floating-promises"],
  },
  {
    title: "a promise where a yes or no is expected",
    step: "promises",
    file: "packages/wire/src/router/broken.ts",
    text: "export function start(ready: Promise<boolean>): number {\n  return ready ? 1 : 0;\n}\n",
    names: ["packages/wire/src/router/broken.ts:2", "no-misused-promises"],
  },
  {
    title: "a wrong expectation about a type",
    step: "types",
    file: "packages/wire/src/broken.test.ts",
    text: 'import { expectTypeOf } from "vitest";\n\nexpectTypeOf("text").toEqualTypeOf<number>();\n',
    names: ["packages/wire/src/broken.test.ts(3,"],
  },
  {
    title: "a code block in the docs that does not compile",
    step: "docs blocks",
    file: "docs/broken.md",
    text: '# Broken\n\n```ts\nimport { message } from "@halyard/wire";\n\nmessage(1);\n```\n',
    names: ["docs/broken.md:6:", "TS2345"],
  },
  {
    title: "a code block in the docs that asks not to be compiled",
    step: "docs blocks",
    file: "docs/broken.md",
    text: "# Broken\n\n```ts no-check\nwhatever\n```\n",
    names: ["docs/broken.md:3:", "no-check"],
  },
  {
    title: "an example in a comment that does not compile",
    step: "docs blocks",
    file: "packages/wire/src/router/broken.ts",
    text: '/**\n * Says it.\n *\n * @example\n * ```ts\n * const text: number = "one";\n * ```\n */\nexport const said = 1;\n',
    names: ["packages/wire/src/router/broken.ts:6:", "TS2322"],
  },
  {
    title: "a file named in ARCHITECTURE.md that does not exist",
    step: "names and links",
    file: "ARCHITECTURE.md",
    text: "# Architecture\n\nA frame enters at `packages/wire/src/router/gone.ts`.\n",
    names: ["ARCHITECTURE.md:3:", "packages/wire/src/router/gone.ts"],
  },
  {
    title: "a link that leads nowhere",
    step: "names and links",
    file: "docs/broken.md",
    text: "# Broken\n\nSee [the guide](guide/gone.md).\n",
    names: ["docs/broken.md:3:", "guide/gone.md"],
  },
  {
    title: "a global of Node in a room that runs everywhere",
    step: "isomorphic rooms",
    file: "packages/wire/src/router/broken.ts",
    text: "export const now: unknown = process.hrtime();\n",
    names: ["packages/wire/src/router/broken.ts(1,", "process"],
  },
  {
    title: "a package with Node's types in a room that runs everywhere",
    step: "isomorphic rooms",
    file: "packages/wire/src/router/broken.ts",
    text: 'import type { WebSocket } from "ws";\n\nexport type Broken = WebSocket;\n',
    names: ["@types/node"],
  },
  {
    title: "a file that nothing uses",
    step: "unused code",
    file: "packages/wire/src/router/broken.ts",
    text: "export const unused = 1;\n",
    names: ["packages/wire/src/router/broken.ts"],
  },
  {
    title: "a test that mutes all others",
    step: "hygiene",
    file: "packages/wire/src/broken.test.ts",
    text: `import { test } from "vitest";\n\ntest.${"only"}("one", () => {});\n`,
    names: ["packages/wire/src/broken.test.ts:3:"],
  },
];

let copy: Copy | undefined;
function getCopy(): Copy {
  copy ??= createCopy();
  return copy;
}
afterAll(() => copy?.remove());

describe("the repository as it is", () => {
  test.for([...new Set(BREAKS.map(({ step }) => step))])("passes: %s", async (step) => {
    const { ok, output } = await getCopy().check(step);
    expect(ok, output).toBe(true);
  });
});

describe("the check fails, and says where, on", () => {
  test.for(BREAKS)("$title", async ({ step, file, text, names }) => {
    const { ok, output } = await getCopy().withFile(file, text, () => getCopy().check(step));
    expect(ok, output).toBe(false);
    for (const name of names) expect(output).toContain(name);
  });
});

test("the original is left alone", () => {
  expect(() => read("docs/broken.md")).toThrow("ENOENT");
});
