/** Events on Cloudflare Workers, where a request must not wait for work of another request. */
import { startWorker } from "@halyard/services/worker";
import { expect, onTestFinished, test } from "vitest";

test("requests that overlap, or end before their work, do not block later requests", {
  timeout: 60_000,
}, async () => {
  const entry = new URL("./fixtures/events-worker.ts", import.meta.url).pathname;
  const worker = await startWorker({ entry, nodeModules: true });
  onTestFinished(worker.stop);
  const url = worker.url.replace("ws:", "http:");
  const get = async (path: string) => {
    const response = await fetch(`${url}${path}`);
    expect(response.status, await response.clone().text()).toBe(200);
    return response.json();
  };
  const together = await Promise.all(Array.from({ length: 5 }, () => get("/event")));
  for (const answer of [...together, await get("/event")]) expect(answer.outcome).toBe("stored");
  for (let times = 0; times < 3; times++) await get("/evaluate");
  const { rows, depth } = await get("/flush");
  expect([rows.featureFlagEvent, rows.featureFlagExposure, depth]).toEqual([6, 3, 0]);
});
