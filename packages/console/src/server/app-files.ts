/** The files of the console's application, read once. Only names that were found are served, so no path leads elsewhere. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** Beside the sources and beside what is published. */
export const APP_FOLDER: string = fileURLToPath(new URL("../../dist/app/", import.meta.url));

const INDEX = "index.html";
/** Files in this folder have a hash in their name. */
const HASHED = "assets/";
const YEAR_SECONDS = 31_536_000;

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".mjs": "text/javascript; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".woff": "font/woff",
  ".woff2": "font/woff2",
};

interface AppFile {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly etag: string;
}

export interface AppFiles {
  /** The page, with `__CSP_NONCE__` and `__BASE_PATH__` in it. */
  readonly page: string;
  /** The response for a file; undefined if there is none of this name. */
  respond(name: string, request: Request): Response | undefined;
}

/** Undefined if the application was not built. */
export async function readAppFiles(folder: string): Promise<AppFiles | undefined> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = new Map<string, AppFile>();
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length).split(sep).filter(Boolean).join("/");
    const body = new Uint8Array(await readFile(path));
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"`;
    files.set(name, { body, type: TYPES[extname(name)] ?? "application/octet-stream", etag });
  }
  const index = files.get(INDEX);
  if (index === undefined) return undefined;
  files.delete(INDEX);
  return {
    page: new TextDecoder().decode(index.body),
    respond(name, request) {
      const file = files.get(name);
      return file && responseOf(name, file, request);
    },
  };
}

function responseOf(name: string, { body, type, etag }: AppFile, { method, headers }: Request): Response {
  const cache = name.startsWith(HASHED) ? `public, max-age=${YEAR_SECONDS}, immutable` : "no-cache";
  const common = { "cache-control": cache, etag };
  if (headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers: common });
  const isHead = method === "HEAD";
  return new Response(isHead ? null : body, {
    headers: { ...common, "content-type": type, "content-length": String(body.length) },
  });
}

/** Whether a path that leads to no file is a missing file, and not a view of the application. */
export function isFileName(name: string): boolean {
  return name.startsWith(HASHED) || Object.hasOwn(TYPES, extname(name));
}
