/** The files of the console's application. Only names that it has are served, so no path leads elsewhere. */

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

/** A file of the built application. */
export interface EmbeddedFile {
  readonly etag: string;
  readonly encoding: "utf8" | "base64";
  readonly data: string;
}

/** The built application: its files by name. */
export type AppContent = Readonly<Record<string, EmbeddedFile>>;

interface AppFile {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly etag: string;
}

export class AppFiles {
  /** The page, with `__CSP_NONCE__` and `__BASE_PATH__` in it. */
  readonly page: string;
  readonly #files: ReadonlyMap<string, AppFile>;

  constructor({ [INDEX]: index, ...others }: AppContent) {
    this.page = index?.data ?? "";
    this.#files = new Map(
      Object.entries(others).map(([name, { data, encoding, etag }]) => {
        const type = TYPES[extensionOf(name)] ?? "application/octet-stream";
        return [name, { body: new Uint8Array(Buffer.from(data, encoding)), type, etag }];
      }),
    );
  }

  /** The response for a file. Undefined if no file has this name. */
  respond(name: string, request: Request): Response | undefined {
    const file = this.#files.get(name);
    return file && responseOf(name, file, request);
  }
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
  return name.startsWith(HASHED) || Object.hasOwn(TYPES, extensionOf(name));
}

function extensionOf(name: string): string {
  return /\.[^./]*$/.exec(name)?.[0] ?? "";
}
