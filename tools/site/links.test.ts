import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { findBrokenAddresses } from "./links.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function build(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "halyard-site-"));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const page = '<h2 id="join">Join</h2>';

test("links to pages, folders, files and headings that exist are no problem", () => {
  const folder = build({
    "index.html":
      '<a href="/v/wire/a#join">a</a><a href="wire/">b</a><a href="#top">c</a><p id="top"><img src="/v/a.png">',
    "wire/a.html": `${page}<a href="https://example.com/x">x</a>`,
    "wire/index.html": '<a href="../">up</a>',
    "a.png": "",
  });
  expect(findBrokenAddresses(folder, "/v/")).toEqual([]);
});

test.for([
  ['<a href="/wire/b">b</a>', "index.html: the link /wire/b leads to no page."],
  [
    '<a href="/wire/a#leave">a</a>',
    "index.html: the link /wire/a#leave names #leave, which wire/a.html does not have.",
  ],
  ['<img alt="a > b" src="/b.png">', "index.html: loads /b.png, which does not exist."],
  [
    '<script src="https://cdn.example.com/a.js"></script>',
    "index.html: loads https://cdn.example.com/a.js from another origin.",
  ],
] as const)("%s is reported", ([html, problem]) => {
  const folder = build({ "index.html": html, "wire/a.html": page });
  expect(findBrokenAddresses(folder, "/")).toEqual([problem]);
});

test("a link outside of the site's base is reported", () => {
  const folder = build({ "index.html": '<a href="/wire/a">a</a>', "wire/a.html": page });
  expect(findBrokenAddresses(folder, "/0.2/")).toEqual(["index.html: the link /wire/a leads to no page."]);
});
