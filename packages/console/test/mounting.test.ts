/** Checks that the lines of the guide mount the console in each framework. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";

const GUIDE = readFileSync(new URL("../../../docs/guide/console.md", import.meta.url), "utf8");
const BASE = "/admin/flags";
const MOST_LINES = 5;

type Ask = (path: string, init?: RequestInit) => Promise<Response>;

const FRAMEWORKS: readonly (readonly [string, string, () => Promise<Ask>])[] = [
  [
    "Hono",
    "hono.ts",
    async () => {
      const { app } = await import("./fixtures/mounting/hono.ts");
      return async (path, init) => app.request(`http://localhost${path}`, init);
    },
  ],
  [
    "Express",
    "express.ts",
    async () => {
      const { app } = await import("./fixtures/mounting/express.ts");
      const server = createServer(app);
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void server.close());
      const { port } = server.address() as AddressInfo;
      return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init);
    },
  ],
  [
    "Next.js",
    "next.ts",
    async () => {
      const methods: Readonly<Record<string, (request: Request) => Promise<Response>>> = await import(
        "./fixtures/mounting/next.ts"
      );
      // Next.js calls the export with the name of the method.
      return async (path, init) => {
        const request = new Request(`http://localhost${path}`, init);
        return methods[request.method]?.(request) ?? new Response(null, { status: 405 });
      };
    },
  ],
];

test.each(FRAMEWORKS)("guide/console: Mounting in %s takes at most five lines", async (_name, file, open) => {
  const text = readFileSync(new URL(`fixtures/mounting/${file}`, import.meta.url), "utf8");
  expect(GUIDE).toContain(text.replace("./auth.ts", file === "next.ts" ? "@/lib/auth" : "./auth.ts"));
  const lines = text.split("\n").filter((line) => /console|fetch/i.test(line));
  expect(lines.length).toBeLessThanOrEqual(MOST_LINES);

  const ask = await open();
  for (const path of [BASE, `${BASE}/flag/checkout`]) {
    const page = await ask(path);
    // The application's files are there after a build.
    expect([200, 503]).toContain(page.status);
    expect(page.headers.get("x-frame-options")).toBe("DENY");
  }
  for (const method of ["GET", "POST", "PATCH", "DELETE"]) {
    const answer = await ask(`${BASE}/api/feature-flags/admin/flags${method === "POST" ? "" : "/key:a"}`, {
      method,
      headers: { "x-halyard-console": "1", "content-type": "application/json" },
      ...(method !== "GET" && { body: "{}" }),
    });
    expect([method, answer.status]).toEqual([method, 401]);
  }
});
