/** Writes the built application as one module, so that the console runs where a bundler moves its code. */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import type { Plugin } from "vite";
import type { AppContent } from "../src/server/app-files.ts";

const MODULE = "content.js";
const TEXT = /\.(?:css|html|js|json|map|mjs|svg|txt|webmanifest)$/;

/** Replaces the files of the build by the module. */
export function embedFiles(): Plugin {
  let folder = "";
  return {
    name: "embed-files",
    apply: "build",
    configResolved({ root, build }) {
      folder = resolve(root, build.outDir);
    },
    closeBundle() {
      const module = `export const content = ${JSON.stringify(contentOf(folder))};\n`;
      rmSync(folder, { recursive: true });
      mkdirSync(folder);
      writeFileSync(join(folder, MODULE), module);
    },
  };
}

/** The files of a folder, by their paths in it. */
export function contentOf(folder: string): AppContent {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        const name = path.slice(folder.length).split(sep).filter(Boolean).join("/");
        const encoding = TEXT.test(name) ? "utf8" : "base64";
        const bytes = readFileSync(path);
        const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 27)}"`;
        return [name, { etag, encoding, data: bytes.toString(encoding) }] as const;
      })
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}
