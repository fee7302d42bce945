/** The event stream that OFREP's bulk evaluation names. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { memoryHost, newKey, suiteHost } from "../memory-host.ts";

let host: Host;
let ada: Person;
suiteHost({}, async (started) => {
  host = started;
  ada = await host.person("ada");
});

interface Opened {
  readonly status: number;
  readonly headers: Headers;
  /** What was received so far. */
  text(): string;
  readonly ended: Promise<void>;
}

async function openStream(url: string, as?: Person): Promise<Opened> {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const response = await fetch(url, { headers: { ...as?.headers }, signal: stop.signal });
  let text = "";
  const decoder = new TextDecoder();
  const read = async () => {
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk as Uint8Array);
  };
  return {
    status: response.status,
    headers: response.headers,
    text: () => text,
    ended: read().catch(() => undefined),
  };
}

async function streamUrl(as?: Person): Promise<string> {
  const { json } = await host.call("POST", "/ofrep/v1/evaluate/flags", { body: {}, ...(as && { as }) });
  return json.eventStreams[0].url;
}

const createFlag = () =>
  host.auth.api.createFeatureFlag({
    body: { key: newKey("sse"), name: "N", type: "string", enabled: true, defaultValue: "one" },
  });
const REFETCH = 'data: {"type":"refetchEvaluation"}';

describe("the event stream of OFREP", () => {
  test("says refetchEvaluation after a change, and nothing about it", async () => {
    const flag = await createFlag();
    const stream = await openStream(await streamUrl(ada), ada);
    expect([stream.status, stream.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, defaultValue: "CANARY" } });
    await expect.poll(stream.text, { interval: 5 }).toContain(REFETCH);
    expect(stream.text()).not.toContain("CANARY");
    expect(stream.text()).not.toContain(flag.key);
    const { json } = await host.call("POST", "/ofrep/v1/evaluate/flags", { as: ada, body: {} });
    expect(JSON.stringify(json)).toContain("CANARY");
  });

  test("announces quick changes together", async () => {
    const flag = await createFlag();
    const stream = await openStream(await streamUrl());
    await expect.poll(stream.text, { interval: 5 }).toContain("retry:");
    for (let value = 0; value < 10; value++)
      await host.auth.api.updateFeatureFlag({ body: { id: flag.id, defaultValue: `${value}` } });
    await expect.poll(stream.text, { interval: 5 }).toContain(REFETCH);
    expect(stream.text().split(REFETCH).length - 1).toBeLessThan(10);
  });

  test("ends when the session ends", async () => {
    const eve = await host.person("eve");
    const stream = await openStream(await streamUrl(eve), eve);
    expect(stream.status).toBe(200);
    await host.call("POST", "/sign-out", { as: eve, body: {} });
    await stream.ended;
    expect(stream.text()).toContain(REFETCH);
  });

  test("ends when the flags are closed, and is limited to 20 for one caller", async () => {
    const own = await memoryHost();
    const url = `${own.origin}/api/auth/ofrep/v1/events`;
    const streams = [];
    for (let count = 0; count < 20; count++) streams.push(await openStream(url));
    expect(streams.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect((await openStream(url)).status).toBe(429);
    await own.close();
    await Promise.all(streams.map(({ ended }) => ended));
  });

  test("is not offered without background work", async () => {
    const own = await memoryHost({ flags: { poll: false } });
    const { json } = await own.call("POST", "/ofrep/v1/evaluate/flags", { body: {} });
    expect(json.eventStreams).toBeUndefined();
  });
});
