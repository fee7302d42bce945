/** Checks how much a browser loads. */
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import type { AppContent } from "../../../src/server/app-files.ts";
import { buildApp } from "../application.ts";

const MOST_BYTES = 200_000;

export function checkSize(): void {
  it("the first load is at most 200 kB gzip, and the page has no inline script or style", async () => {
    const { content }: { content: AppContent } = await import(join(await buildApp(), "content.js"));
    const read = (name: string) => content[name]?.data ?? "";
    const page = read("index.html");
    const files = Array.from(page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g), ([, file = ""]) => file);
    expect(files.some((file) => file.endsWith(".js"))).toBe(true);
    expect(files.some((file) => file.endsWith(".css"))).toBe(true);
    let bytes = gzipSync(page).byteLength;
    for (const file of files) bytes += gzipSync(read(file)).byteLength;
    console.log(`first load: ${bytes} bytes gzip in ${files.length} files`);
    expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
    expect(page).not.toMatch(/<style|<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=/);
  });
}
