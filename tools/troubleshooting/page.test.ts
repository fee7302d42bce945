import { describe, expect, test } from "vitest";
import type { Tree } from "../names.ts";
import type { Catalogue } from "./entries.ts";
import { findGaps, writePage } from "./page.ts";

const REMEDY = { why: "It is off.", todo: "Turn it on." };
const SOURCE = `
console.warn(\`[halyard] The \${name} is off. Turn it on.\`);
throw new WsError("NOT_FOUND", "There is no such room. Check its name.");
throw new TypeError("The option port is negative. Set it above 0.");
`;

const catalogue = (logs: Catalogue["logs"]): Catalogue => ({
  page: "docs/guide/wire-troubleshooting.md",
  title: "Wire: troubleshooting",
  opening: "Find it here.",
  sources: ["packages/wire/src/"],
  codes: [{ code: "NOT_FOUND", facts: "Not retryable.", remedy: REMEDY }],
  more: [],
  logs,
  parts: [],
  related: "[Errors](errors.md)",
});

const ENTRY = { text: "The … is off.", ...REMEDY };

function treeOf(files: Readonly<Record<string, string>>): Tree {
  return { files: Object.keys(files), read: (file) => files[file] ?? "" };
}

const source = { "packages/wire/src/a.ts": SOURCE };

describe("a gap is found", () => {
  test("for a log line without an entry", () => {
    expect(findGaps(treeOf(source), catalogue([]))).toEqual([
      expect.stringMatching(/^packages\/wire\/src\/a\.ts:2: this log line has no entry .*The … is off/),
    ]);
  });

  test("for an entry whose line is no longer in the source", () => {
    const gone = { text: "The cache is cold.", ...REMEDY };
    expect(findGaps(treeOf(source), catalogue([ENTRY, gone]))).toEqual([
      expect.stringContaining('no log line "The cache is cold."'),
    ]);
  });

  test("for a page that is missing or out of date, and not after it is written", () => {
    const complete = catalogue([ENTRY]);
    const written = writePage(treeOf(source), complete);
    expect(findGaps(treeOf(source), complete)).toEqual([expect.stringContaining("is out of date")]);
    expect(findGaps(treeOf({ ...source, [complete.page]: `${written}!` }), complete)).toHaveLength(1);
    expect(findGaps(treeOf({ ...source, [complete.page]: written }), complete)).toEqual([]);
  });
});

test("a page has the code with its messages, the log line, and thrown errors with their remedies", () => {
  const page = writePage(treeOf(source), catalogue([ENTRY]));
  expect(page).toContain(
    "### NOT_FOUND\n\nNot retryable.\n\n**Cause.** It is off.\n\n**What to do.** Turn it on.",
  );
  expect(page).toContain("| `There is no such room.` | `Check its name.` |");
  expect(page).toContain("### The … is off.");
  expect(page).toContain("| `The option port is negative.` | `Set it above 0.` |");
});
