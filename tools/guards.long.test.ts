import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHECK_TIMEOUT_MS, type Copy, createCopy } from "./copy.ts";
import { read } from "./repository.ts";

// Longer than the check's own timeout, which reports what the check had printed.
const TIMEOUT_MS = CHECK_TIMEOUT_MS + 60_000;

/** The compiler also names `@types/node` as advice, so only a path shows that it read them. */
const NODE_TYPES = "/@types/node/index.d.ts";

interface Break {
  /** Completes "the check fails, and says where, on …". */
  readonly title: string;
  readonly step: string;
  readonly file: string;
  readonly text: string;
  /** What the message must contain, so that a reader finds the place. */
  readonly names: readonly string[];
  /** This break would hide others, so the step runs once more for it alone. */
  readonly isAlone?: true;
}

const BREAKS: readonly Break[] = [
  {
    title: "an import from a room that this room may not import",
    step: "format and lint",
    file: "packages/wire/src/protocol/broken.ts",
    text: 'import { createRouter } from "../router/router.ts";\n\nexport const router: unknown = createRouter();\n',
    names: ["packages/wire/src/protocol/broken.ts:1", "protocol/ is what both ends share"],
  },
  {
    title: "an import from another room in a folder of pubsub/",
    step: "format and lint",
    file: "packages/wire/src/pubsub/redis/broken.ts",
    text: 'import { createRouter } from "../../router/router.ts";\n\nexport const router: unknown = createRouter();\n',
    names: ["packages/wire/src/pubsub/redis/broken.ts:1", "pubsub/ may import protocol/ and time/ only"],
  },
  {
    title: "an import from another room in a folder of router/",
    step: "format and lint",
    file: "packages/wire/src/router/calls/broken.ts",
    text: 'import { serve } from "../../adapters/node.ts";\n\nexport const run: unknown = serve;\n',
    names: ["packages/wire/src/router/calls/broken.ts:1", "router/ may import protocol/, time/"],
  },
  {
    title: "an import from another room in a folder of adapters/",
    step: "format and lint",
    file: "packages/wire/src/adapters/durable/broken.ts",
    text: 'import { memoryPubSub } from "../../pubsub/memory.ts";\n\nexport const pubsub: unknown = memoryPubSub;\n',
    names: ["packages/wire/src/adapters/durable/broken.ts:1", "adapters/ may import protocol/, time/"],
  },
  {
    title: "an import from another room in a folder of a folder of store/",
    step: "format and lint",
    file: "packages/flags/src/store/events/postgres/broken.ts",
    text: 'import { VERSION } from "../../../server/version.ts";\n\nexport const version: unknown = VERSION;\n',
    names: [
      "packages/flags/src/store/events/postgres/broken.ts:1",
      "store/ may import engine/ and model/ only",
    ],
  },
  {
    title: "an import of another package in base",
    step: "format and lint",
    file: "packages/base/src/broken.ts",
    text: 'import { WsError } from "@halyard/wire";\n\nexport const error: unknown = WsError;\n',
    names: ["packages/base/src/broken.ts:1", "base imports nothing"],
  },
  {
    title: "an import of another package in sessions",
    step: "format and lint",
    file: "packages/sessions/src/identify/broken.ts",
    text: 'import { WsError } from "@halyard/wire";\n\nexport const error: unknown = WsError;\n',
    names: ["packages/sessions/src/identify/broken.ts:1", "sessions imports no other package"],
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
    file: "packages/wire/src/router/broken-import.ts",
    text: 'import { Kysely } from "kysely";\n\nexport const database: unknown = Kysely;\n',
    names: ["packages/wire/src/router/broken-import.ts:1", "noUndeclaredDependencies"],
  },
  {
    title: "a promise that is not awaited",
    step: "promises",
    file: "packages/wire/src/router/broken-promise.ts",
    text: "export function start(): void {\n  Promise.resolve();\n}\n",
    names: ["packages/wire/src/router/broken-promise.ts:2", "no-floating-promises"],
  },
  {
    title: "a promise used as a condition",
    step: "promises",
    file: "packages/wire/src/router/broken-condition.ts",
    text: "export function start(ready: Promise<boolean>): number {\n  return ready ? 1 : 0;\n}\n",
    names: ["packages/wire/src/router/broken-condition.ts:2", "no-misused-promises"],
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
    file: "docs/broken-block.md",
    text: '# Broken\n\n```ts\nimport { message } from "@halyard/wire";\n\nmessage(1);\n```\n',
    names: ["docs/broken-block.md:6:", "TS2345"],
  },
  {
    title: "a page that does not begin with what it is for and an example",
    step: "page structure",
    file: "docs/guide/broken-structure.md",
    text: "# Broken\n\nFor a test.\n\n## Options\n",
    names: ["docs/guide/broken-structure.md:1: show the smallest example", "the last section must be"],
  },
  {
    title: "a page with a long sentence and a vague word",
    step: "readability",
    file: "docs/guide/broken-sentence.md",
    text: `# Broken\n\nThis simply ${"goes and ".repeat(20)}ends.\n`,
    names: ["docs/guide/broken-sentence.md:3: 43 words in a sentence", '"simply"'],
  },
  {
    title: "a log line without an entry for troubleshooting",
    step: "troubleshooting",
    file: "packages/wire/src/router/broken-log.ts",
    text: 'export function warn(): void {\n  console.warn("[halyard] The moon is full tonight.");\n}\n',
    names: ["packages/wire/src/router/broken-log.ts:2", "The moon is full tonight."],
  },
  {
    title: "a code block in the docs that is marked not to be compiled",
    step: "docs blocks",
    file: "docs/broken-mark.md",
    text: "# Broken\n\n```ts no-check\nwhatever\n```\n",
    names: ["docs/broken-mark.md:3:", "no-check"],
  },
  {
    title: "an example in a comment that does not compile",
    step: "docs blocks",
    file: "packages/wire/src/router/broken-example.ts",
    text: '/**\n * Counts.\n *\n * @example\n * ```ts\n * const text: number = "one";\n * ```\n */\nexport const count = 1;\n',
    names: ["packages/wire/src/router/broken-example.ts:6:", "TS2322"],
  },
  {
    title: "a file named in ARCHITECTURE.md that does not exist",
    step: "names and links",
    file: "ARCHITECTURE.md",
    text: "# Architecture\n\nA frame enters at `packages/wire/src/router/gone.ts`.\n",
    names: ["ARCHITECTURE.md:3:", "packages/wire/src/router/gone.ts"],
  },
  {
    title: "a link to a page that does not exist",
    step: "names and links",
    file: "docs/broken-link.md",
    text: "# Broken\n\nSee [the guide](guide/gone.md).\n",
    names: ["docs/broken-link.md:3:", "guide/gone.md"],
  },
  {
    title: "a global of Node in a room that runs everywhere",
    step: "isomorphic rooms",
    file: "packages/wire/src/router/broken-global.ts",
    text: "export const now: unknown = process.hrtime();\n",
    names: ["packages/wire/src/router/broken-global.ts(1,", "process"],
  },
  {
    title: "a package with Node's types in a room that runs everywhere",
    step: "isomorphic rooms",
    file: "packages/wire/src/router/broken-types.ts",
    text: 'import type { WebSocket } from "ws";\n\nexport type Broken = WebSocket;\n',
    names: [NODE_TYPES],
    isAlone: true,
  },
  {
    title: "a file that is never imported",
    step: "unused code",
    file: "packages/wire/src/router/broken-unused.ts",
    text: "export const unused = 1;\n",
    names: ["packages/wire/src/router/broken-unused.ts"],
  },
  {
    title: "a test that mutes all others",
    step: "hygiene",
    file: "packages/wire/src/broken-only.test.ts",
    text: `import { test } from "vitest";\n\ntest.${"only"}("one", () => {});\n`,
    names: ["packages/wire/src/broken-only.test.ts:3:"],
  },
  {
    title: "two files that import each other's types",
    step: "format and lint",
    file: "packages/wire/src/protocol/broken-circle.ts",
    text: 'import type { CircleEnd } from "./broken-circle-end.ts";\n\nexport type Circle = { readonly end?: CircleEnd };\n',
    names: ["packages/wire/src/protocol/broken-circle.ts:1", "noImportCycles", "broken-circle-end.ts"],
  },
  {
    title: "the other one of two files that import each other's types",
    step: "format and lint",
    file: "packages/wire/src/protocol/broken-circle-end.ts",
    text: 'import type { Circle } from "./broken-circle.ts";\n\nexport type CircleEnd = { readonly circle?: Circle };\n',
    names: ["packages/wire/src/protocol/broken-circle-end.ts:1", "noImportCycles"],
  },
  {
    title: "a banned word",
    step: "words",
    file: "packages/wire/src/router/broken-word.ts",
    text: `// ${"No"}${"body"} reads this.\nexport const unread = 1;\n`,
    names: ["packages/wire/src/router/broken-word.ts:1:", "name the actor"],
  },
  {
    title: "a suite in test/spec that names no heading of the docs",
    step: "titles",
    file: "packages/wire/test/spec/broken-title.test.ts",
    text: 'import { describe } from "vitest";\n\ndescribe("guide/rpc: Gone", () => {});\n',
    names: ["packages/wire/test/spec/broken-title.test.ts:3:", "docs/guide/rpc.md"],
  },
];

/** Steps that fail on a break of another step: a file that is never imported is unused in production too. */
const ALSO_FAILED: readonly string[] = ["unused in production"];

const TOGETHER = BREAKS.filter(({ isAlone }) => isAlone !== true);

let copy: Copy | undefined;
/** What each failed step printed when all breaks of `TOGETHER` were in place. */
let reports: ReadonlyMap<string, string> = new Map();

function getCopy(): Copy {
  if (copy === undefined) throw new Error("The copy was not made.");
  return copy;
}

async function checkBroken(
  breaks: readonly Break[],
  ...steps: readonly string[]
): Promise<Map<string, string>> {
  const files = Object.fromEntries(breaks.map(({ file, text }) => [file, text]));
  const { ok, output } = await getCopy().withFiles(files, () => getCopy().check(...steps));
  expect(ok, output).toBe(false);
  // A failed step prints "✗ name  1.2 s", its output and, last, the line of the next step.
  const sections = output.split(/^(?=[✓✗] )/m).filter((section) => section.startsWith("✗ "));
  return new Map(sections.map((section) => [/^✗ (.+?) +[\d.]+ \w+$/m.exec(section)?.[1] ?? "", section]));
}

beforeAll(async () => {
  copy = createCopy();
  reports = await checkBroken(TOGETHER);
}, TIMEOUT_MS);
afterAll(() => copy?.remove());

describe("the check fails, and says where, on", () => {
  test.for(TOGETHER)("$title", ({ step, names }) => {
    const report = reports.get(step);
    for (const name of names) expect(report).toContain(name);
  });

  test.for(BREAKS.filter(({ isAlone }) => isAlone))("$title", { timeout: TIMEOUT_MS }, async (broken) => {
    const report = (await checkBroken([broken], broken.step)).get(broken.step);
    for (const name of broken.names) expect(report).toContain(name);
  });
});

test("the check fails only in the steps that the breaks concern", () => {
  const expected = new Set([...TOGETHER.map(({ step }) => step), ...ALSO_FAILED]);
  expect([...reports.keys()].sort()).toEqual([...expected].sort());
});

test("the rooms that run everywhere are compiled without Node's types", () => {
  expect(reports.get("isomorphic rooms")).toContain("broken-global.ts");
  expect(reports.get("isomorphic rooms")).not.toContain(NODE_TYPES);
});

test("the original is left alone", () => {
  for (const { file } of BREAKS.filter((broken) => broken.file.includes("broken"))) {
    expect(() => read(file)).toThrow("ENOENT");
  }
});
