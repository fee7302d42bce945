/** Serves the built site as a static host does: `/page` is `page.html`. */

import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { findFile } from "./links.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".webp": "image/webp",
  ".txt": "text/plain; charset=utf-8",
  ".xml": "application/xml; charset=utf-8",
  ".woff2": "font/woff2",
};

export interface StaticSite {
  readonly url: string;
  close(): Promise<void>;
}

export function serveSite(folder: string, base: string, port: number): Promise<StaticSite> {
  const server = createServer((request, response) => {
    let name: string | undefined;
    try {
      name = findFile(folder, "index.html", request.url ?? "/", base);
    } catch {
      name = undefined; // an address that is not valid
    }
    const isFound = name !== undefined && !name.startsWith("..");
    const file = join(folder, isFound ? (name ?? "") : "404.html");
    if (!existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    const type = TYPES[extname(file)] ?? "application/octet-stream";
    response.writeHead(isFound ? 200 : 404, { "content-type": type });
    response.end(request.method === "HEAD" ? undefined : readFileSync(file));
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      const { port: chosen } = server.address() as AddressInfo;
      resolve({
        url: `http://127.0.0.1:${chosen}${base}`,
        close: () =>
          new Promise((done) => {
            server.closeAllConnections();
            server.close(() => done());
          }),
      });
    });
  });
}
