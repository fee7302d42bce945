/** Live flags of an application on Bun. */
import { bunPath, spawnProgram } from "@halyard/services";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Host } from "../host.ts";
import { type LiveHost, livePage, SOON } from "./kit.ts";

test("Bun: a page follows a change without a request, and a sign-out ends its connection", async () => {
  const fixture = new URL("../fixtures/live-app.ts", import.meta.url).pathname;
  const program = await spawnProgram({ command: bunPath(), args: ["--conditions=@halyard/source", fixture] });
  onTestFinished(program.kill);
  const origin = `http://127.0.0.1:${program.port}`;
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    fetch(origin + path, { method: "POST", body, headers: { origin, ...headers } });
  const json = { "content-type": "application/json" };
  const signedUp = await post(
    "/api/auth/sign-up/email",
    JSON.stringify({ name: "ann", email: "ann@example.com", password: "correct horse battery" }),
    json,
  );
  const cookie = signedUp.headers
    .getSetCookie()
    .map((line) => line.split(";", 1)[0])
    .join("; ");
  // The page needs only the addresses.
  const host = { origin, liveUrl: `ws://127.0.0.1:${program.port}/live` } as Partial<Host> as LiveHost;
  const page = await livePage(host, { headers: { cookie } });
  await page.sees("live", "one");
  const requests = page.paths.length;
  await post("/change", "two");
  await page.sees("live", "two");
  expect(page.paths.length).toBe(requests);
  await post("/api/auth/sign-out", "{}", { ...json, cookie });
  await vi.waitFor(() => expect(page.wire.session).toBe("lost"), SOON);
});
