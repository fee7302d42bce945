import { describe, expect, test } from "vitest";
import { isFollowed, readPage } from "./page.ts";

const block = (opening: string, ...lines: readonly string[]): string =>
  [`\`\`\`${opening}`, ...lines, "```", ""].join("\n");

const onePage = (...parts: readonly string[]): string => ["# Title", "", ...parts].join("\n");

describe("a page is followed in the order of its text", () => {
  test("files are written and commands run, with the output that the page shows", () => {
    const page = onePage(
      block("sh", "npm init -y # a new package", "# a comment", "node \\", "  --version"),
      block("ts file=src/server.ts", "serve();"),
      block("sh background", "node src/server.ts"),
      block("output", "listening on …"),
      "Stop it with Ctrl+C. <!-- stop -->",
    );
    const { walks, problems } = readPage("docs/guide/recipe-a.md", page);
    expect(problems).toEqual([]);
    expect(walks).toHaveLength(1);
    expect(walks[0]?.steps).toMatchObject([
      { kind: "commands", mode: "foreground", commands: ["npm init -y", "node --version"], output: [] },
      { kind: "file", path: "src/server.ts", text: "serve();\n" },
      { kind: "commands", mode: "background", commands: ["node src/server.ts"], output: ["listening on …"] },
      { kind: "stop" },
    ]);
  });

  test("an address is opened in a browser", () => {
    const page = onePage(block("sh", "true"), block("console http://localhost:5173", "Hello"));
    expect(readPage("README.md", page).walks[0]?.steps[1]).toMatchObject({
      kind: "browser",
      place: "console",
      url: "http://localhost:5173",
      lines: ["Hello"],
    });
  });

  test("a page can continue another one", () => {
    const page = onePage("<!-- continues: wire-getting-started.md -->", block("sh", "true"));
    expect(readPage("docs/guide/recipe-a.md", page).walks[0]?.continues).toBe(
      "docs/guide/wire-getting-started.md",
    );
  });

  test("a page with files for PostgreSQL is followed on both databases", () => {
    const page = onePage(
      block("ts file=auth.ts", "sqlite"),
      block("ts file=auth.postgres.ts", "postgres"),
      block("sh postgres", "npm install pg"),
      block("sh", "node auth.ts"),
    );
    const { walks } = readPage("docs/guide/flags-quick-start.md", page);
    expect(walks.map(({ name }) => name)).toEqual([
      "docs/guide/flags-quick-start.md, SQLite",
      "docs/guide/flags-quick-start.md, PostgreSQL",
    ]);
    expect(walks[0]?.steps).toMatchObject([
      { path: "auth.ts", text: "sqlite\n" },
      { commands: ["node auth.ts"] },
    ]);
    expect(walks[1]?.steps).toMatchObject([
      { path: "auth.ts", text: "postgres\n" },
      { commands: ["npm install pg"] },
      { commands: ["node auth.ts"] },
    ]);
  });

  test("a page about mounting has a walk for each section, with what stands before the first", () => {
    const page = onePage(
      block("ts file=shared.ts", "1"),
      "## Hono",
      block("sh", "node hono.ts"),
      "## Express",
      block("sh", "node express.ts"),
      "## Related pages",
    );
    const { walks } = readPage("docs/guide/wire-mounting.md", page);
    expect(walks.map(({ name }) => name)).toEqual([
      "docs/guide/wire-mounting.md, Hono",
      "docs/guide/wire-mounting.md, Express",
    ]);
    expect(walks[1]?.steps).toMatchObject([{ path: "shared.ts" }, { commands: ["node express.ts"] }]);
  });
});

describe("a page does not keep to the convention", () => {
  test.for([
    ["with an unknown mark", block("sh later", "true"), /^README\.md:3: "later" means nothing/],
    [
      "with a background command of unknown readiness",
      block("sh background", "node a.ts"),
      /output block must follow/,
    ],
    ["with output of no command", block("output", "Hello"), /must follow the sh block/],
    ["with a variable of one terminal", block("sh", "export A=1"), /holds in one terminal only/],
    ["with a file outside of the folder", block("json file=../a.json", "{}"), /outside of the folder/],
  ] as const)("%s", ([, text, problem]) => {
    expect(readPage("README.md", onePage(text)).problems).toEqual([expect.stringMatching(problem)]);
  });
});

test("getting started, recipes, mounting and READMEs are followed, and marked pages", () => {
  const followed = [
    "README.md",
    "packages/wire/README.md",
    "docs/guide/wire-getting-started.md",
    "docs/guide/flags-quick-start.md",
    "docs/guide/recipe-chat.md",
    "docs/guide/flags-recipe-beta.md",
    "docs/guide/wire-mounting.md",
  ];
  expect(followed.filter((page) => !isFollowed(page, ""))).toEqual([]);
  expect(isFollowed("docs/guide/rpc.md", "# RPC")).toBe(false);
  expect(isFollowed("docs/guide/rpc.md", "# RPC\n<!-- followed -->")).toBe(true);
});
