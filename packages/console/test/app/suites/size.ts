/** Checks how much a browser loads. */
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import type { AppContent } from "../../../src/server/app-files.ts";
import { buildApp } from "../application.ts";

const MOST_BYTES = 200_000;
/** Of all fonts together, though a page of English words loads only some. */
const MOST_FONT_BYTES = 30_000;
const FONT = /\.woff2$/;

export function checkSize(): void {
  it("the first load is at most 200 kB gzip and 30 kB of fonts, and the page has no inline script or style", async () => {
    const { content }: { content: AppContent } = await import(join(await buildApp(), "content.js"));
    const read = (name: string) => content[name]?.data ?? "";
    const page = read("index.html");
    const files = Array.from(page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g), ([, file = ""]) => file);
    for (const end of [".js", ".css", ".woff2"]) expect(files.some((file) => file.endsWith(end))).toBe(true);
    let bytes = gzipSync(page).byteLength;
    for (const file of files) if (!FONT.test(file)) bytes += gzipSync(read(file)).byteLength;
    const fonts = Object.keys(content).filter((name) => FONT.test(name));
    const fontBytes = fonts.reduce((sum, name) => sum + Buffer.from(read(name), "base64").byteLength, 0);
    console.log(
      `first load: ${bytes} bytes gzip in ${files.length} files; ${fonts.length} fonts: ${fontBytes}`,
    );
    expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
    expect(fontBytes).toBeLessThanOrEqual(MOST_FONT_BYTES);
    expect(fonts.length).toBeGreaterThan(0);
    expect(content["geist-OFL.txt"]).toBeDefined();
    expect(page).not.toMatch(/<style|<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=/);
  });
}
