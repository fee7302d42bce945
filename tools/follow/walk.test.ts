import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Outcome } from "../steps.ts";
import { readPage } from "./page.ts";
import { followPages } from "./walk.ts";

const block = (opening: string, ...lines: readonly string[]): string =>
  [`\`\`\`${opening}`, ...lines, "```", ""].join("\n");

/** Follows the pages, each by its name, and keeps what is printed. */
async function follow(pages: Readonly<Record<string, string>>): Promise<Outcome & { printed: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), "halyard-follow-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  onTestFinished(() => log.mockRestore());
  const walks = Object.entries(pages).flatMap(([name, text]) => readPage(`docs/guide/${name}`, text).walks);
  const outcome = await followPages({
    walks,
    folder,
    specify: () => undefined,
    npmArgs: [],
    stopTimeoutMs: 1_000,
  });
  return { ...outcome, printed: log.mock.calls.map(([line]) => String(line)) };
}

const SERVER = [
  block(
    "js file=server.mjs",
    'import { createServer } from "node:http";',
    'createServer((_, res) => res.end("hello\\n")).listen(0, function () { console.log("port", this.address().port); });',
  ),
  block("sh background", "node server.mjs"),
  block("output", "port …"),
  "Stop it with Ctrl+C. <!-- stop -->",
].join("\n");

describe("a page is followed", () => {
  test("with its files, folders, background commands and failures, and its time is printed", async () => {
    const page = [
      block("sh", "mkdir app && cd app", "pwd"),
      block("output", "…/app"),
      block("sh", "echo one", "echo two >&2"),
      block("output", "one", "two"),
      SERVER,
      block("sh fails", "node missing.mjs"),
      block("output", "…Cannot find module…"),
      block("sh manual", "docker compose up"),
    ].join("\n");
    const { ok, output, printed } = await follow({ "recipe-a.md": page });
    expect(output).toBe("");
    expect(ok).toBe(true);
    expect(printed).toEqual([
      expect.stringContaining("not run: docker compose up"),
      expect.stringMatching(/✓ docs\/guide\/recipe-a\.md: \d/),
    ]);
  });

  test("from the folder that another page leaves behind", async () => {
    const { ok, output } = await follow({
      "recipe-b.md": [
        "<!-- continues: getting-started.md -->",
        block("sh", "cat kept.txt"),
        block("output", "kept"),
      ].join("\n"),
      "getting-started.md": block("sh", "mkdir app && cd app", "echo kept > kept.txt"),
    });
    expect(output).toBe("");
    expect(ok).toBe(true);
  });

  test("without the variables of this process", async () => {
    vi.stubEnv("DATABASE_URL", "postgres://elsewhere");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { ok } = await follow({ "recipe-a.md": block("sh", 'test -z "$DATABASE_URL"') });
    expect(ok).toBe(true);
  });
});

describe("a page does not work", () => {
  test.for([
    ["if a command fails", block("sh", "false"), /recipe-a\.md:2: It failed: false/],
    ["if the output differs", `${block("sh", "echo one")}\n${block("output", "two")}`, /not printed: two/],
    ["if a command that must fail does not", block("sh fails", "true"), /It did not fail/],
    ["if a package has no pinned version", block("sh", "npm install left-pad"), /version of left-pad/],
    [
      "if Ctrl+C does not end a server",
      SERVER.replace("import", 'process.on("SIGINT", () => {});\nimport'),
      /Ctrl\+C does not end: node server\.mjs/,
    ],
    [
      "if the page that it continues is not followed",
      `<!-- continues: gone.md -->\n${block("sh", "true")}`,
      /continues docs\/guide\/gone\.md, which is not followed/,
    ],
  ] as const)("%s", { timeout: 30_000 }, async ([, page, problem]) => {
    const { ok, output } = await follow({ "recipe-a.md": page });
    expect(ok).toBe(false);
    expect(output).toMatch(problem);
  });
});
