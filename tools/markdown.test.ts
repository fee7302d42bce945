import { describe, expect, test } from "vitest";
import { findAnchors, findFences, findInlineCode, findLinks } from "./markdown.ts";

const FENCE = "```";

describe("fenced blocks", () => {
  test("have a language, the text after it, and the line on which their code starts", () => {
    const [fence] = findFences(`# Title\n\n${FENCE}ts file=a.ts\nconst a = 1;\n${FENCE}\n`);
    expect(fence).toEqual({ language: "ts", info: "file=a.ts", lines: ["const a = 1;"], line: 4, indent: 0 });
  });

  test("in a list lose only the indentation of the list", () => {
    const [fence] = findFences(`- item\n\n  ${FENCE}ts\n  if (a) {\n    b();\n  }\n  ${FENCE}\n`);
    expect(fence?.lines).toEqual(["if (a) {", "  b();", "}"]);
  });

  test("end only at a fence of the same length as the opening one", () => {
    const fences = findFences(`${FENCE}\`md\n${FENCE}ts\nconst a = 1;\n${FENCE}\n${FENCE}\`\n`);
    expect(fences.map((fence) => fence.language)).toEqual(["md"]);
  });

  test("that are never closed are still found", () => {
    expect(findFences(`${FENCE}ts\nconst a = 1;\n`)).toHaveLength(1);
  });
});

describe("prose", () => {
  const page = `Read \`a/b.ts\` and [c](c.md#d "title").\n\n${FENCE}sh\ncat \`x\` [e](f.md)\n${FENCE}\n\n\`[g](h.md)\`\n`;

  test("contains inline code, found with its line, outside fenced blocks", () => {
    expect(findInlineCode(page)).toEqual([
      { text: "a/b.ts", line: 1 },
      { text: "[g](h.md)", line: 7 },
    ]);
  });

  test("contains links, except inside code", () => {
    expect(findLinks(page)).toEqual([{ text: "c.md#d", line: 1 }]);
  });

  test("contains images, reference links and HTML links", () => {
    const links = findLinks('![logo](logo.svg)\n[ref]: other.md\n<a href="third.md">x</a>\n');
    expect(links.map((link) => link.text)).toEqual(["logo.svg", "other.md", "third.md"]);
  });
});

test("anchors follow GitHub: lower case, dashes, a number when repeated", () => {
  const page = "# Who may import whom?\n\n## `router.on()` & co.\n\n## Same\n\n## Same\n";
  expect([...findAnchors(page)]).toEqual(["who-may-import-whom", "routeron--co", "same", "same-1"]);
});
