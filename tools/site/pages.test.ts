import { describe, expect, test } from "vitest";
import { listFiles } from "../repository.ts";
import { addressOf, listNamedPages, placeOf, sidebarOf } from "./navigation.ts";
import { describeDiagram, diagramId, listDiagrams, makePage } from "./pages.ts";

const files = new Set([
  "docs/guide/channels.md",
  "docs/guide/flags-live.md",
  "docs/images/a.png",
  "tools/ci.ts",
  "docs/protocol.md",
]);
const options = { files, base: "/0.2/", diagramSize: () => undefined };
const bodyOf = (text: string): string =>
  makePage("docs/guide/rpc.md", text, options).split("---\n\n")[1] ?? "";

describe("links of a page", () => {
  test.for([
    ["[a](channels.md#join)", "[a](/wire/channels#join)"],
    ["[a](flags-live.md)", "[a](/flags/live)"],
    ["[a](../protocol.md#streams)", "[a](/reference/protocol#streams)"],
    ["![a](../images/a.png)", "![a](/images/a.png)"],
    ["[`ci`](../../tools/ci.ts)", "[`ci`](https://github.com/halyard/halyard/blob/main/tools/ci.ts)"],
    ["[a](../../tools)", "[a](https://github.com/halyard/halyard/tree/main/tools)"],
    ["[a](#here)", "[a](#here)"],
    ["[a](https://example.com/x.md)", "[a](https://example.com/x.md)"],
    ["`[a](channels.md)`", "`[a](channels.md)`"],
    ['<a href="channels.md">', '<a href="/0.2/wire/channels">'],
  ] as const)("%s becomes %s", ([from, to]) => {
    expect(bodyOf(from)).toBe(to);
  });

  test("stay as they are inside of code blocks", () => {
    const block = "```md\n[a](channels.md)\n```";
    expect(bodyOf(block)).toBe(block);
  });
});

test("the name above a block is left out, because the site shows it in the label", () => {
  expect(bodyOf("Text.\n\n**a.ts**\n\n```ts file=a.ts\na;\n```\n\n**b.ts**\n")).toBe(
    "Text.\n\n```ts file=a.ts\na;\n```\n\n**b.ts**\n",
  );
});

test("a page says where it is edited and what it is about", () => {
  const page = makePage(
    "docs/guide/rpc.md",
    "# Requests\n\nA [request](rpc.md) has `one` response.\n",
    options,
  );
  expect(page).toContain('source: "docs/guide/rpc.md"');
  expect(page).toContain('description: "A request has one response."');
});

test("a diagram becomes a picture for each look, with its labels as text", () => {
  const code = 'flowchart LR\n  a["client A"] -- "SAY" --> b[server]';
  const page = `# T\n\n\`\`\`mermaid\n${code}\n\`\`\`\n`;
  expect(listDiagrams(page)).toEqual([code]);
  expect(describeDiagram(code)).toBe("Diagram: client A; SAY; server");
  const made = makePage("docs/guide/rpc.md", page, {
    ...options,
    diagramSize: () => ({ width: 3, height: 2 }),
  });
  for (const look of ["light", "dark"]) expect(made).toContain(`/diagrams/${diagramId(code)}-${look}.svg`);
  expect(made).not.toContain("mermaid");
});

describe("the navigation", () => {
  const all = listFiles();
  const linksOf = (product: "wire" | "flags"): (string | undefined)[] =>
    sidebarOf(product, all).flatMap(({ items = [] }) => items.map(({ link }) => link));

  test("names only pages that exist, each once", () => {
    const named = [...listNamedPages("wire"), ...listNamedPages("flags")];
    expect(named.filter((page) => !all.includes(page))).toEqual([]);
    expect(new Set(named).size).toBe(named.length);
  });

  test("has every page of the guide", () => {
    const links = new Set([...linksOf("wire"), ...linksOf("flags")]);
    const guide = all.filter((file) => file.startsWith("docs/guide/"));
    expect(guide.filter((file) => !links.has(addressOf(file)))).toEqual([]);
  });

  test("gives no two pages the same address", () => {
    const places = all.filter((file) => file !== "README.md").flatMap((file) => placeOf(file) ?? []);
    expect(places.filter((place, index) => places.indexOf(place) !== index)).toEqual([]);
  });
});
