/** Polls with the tag of the last response, on both paths. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";
import { type WrappedHost, wrapHost } from "../wrapped-host.ts";

let host: Host;
let [ada, bob]: Person[] = [];
suiteHost({}, async (started) => {
  host = started;
  [ada, bob] = [await host.person("ada"), await host.person("bob")];
});

type Poll = (body: object, headers?: Record<string, string>) => Promise<Polled>;

interface Polled {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

interface Path {
  readonly poll: Poll;
  readonly api: Pick<
    Host["auth"]["api"],
    "updateFeatureFlag" | "createFeatureFlag" | "createFeatureFlagOverride"
  >;
}

/** Better Auth's path, and the path before it. */
const PATHS: readonly (readonly [string, () => Promise<Path>])[] = [
  [
    "Better Auth",
    async () => ({
      poll: (body, headers) =>
        host.call("POST", "/feature-flags/bootstrap", { body, ...(headers && { headers }) }),
      api: host.auth.api,
    }),
  ],
  [
    "the fast path",
    async () => {
      const wrapped: WrappedHost = await wrapHost(host);
      const poll: Poll = async (body, headers = {}) => {
        const text = JSON.stringify(body);
        const request = new Request(`${host.origin}/api/auth/feature-flags/bootstrap`, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            "content-length": String(text.length),
            origin: host.origin,
            ...headers,
          },
          body: text,
        });
        const response = await wrapped.auth.handler(request);
        return { status: response.status, text: await response.text(), headers: response.headers };
      };
      return { poll, api: wrapped.auth.api };
    },
  ],
];

describe.each(PATHS)("guide/flags-http: Bootstrap (%s)", (_name, openPath) => {
  const make = ({ api }: Path) =>
    api.createFeatureFlag({
      body: { key: newKey("tag"), name: "N", type: "string", enabled: true, defaultValue: "one" },
    });

  test("a poll whose tag still holds is 304 without a body, until a flag changes", async () => {
    const path = await openPath();
    const { poll, api } = path;
    const flag = await make(path);
    const body = { prefix: flag.key };
    const tag = (await poll(body, ada?.headers)).headers.get("etag") ?? "";
    expect(tag).toMatch(/^W\/"[\da-f]{16}"$/);
    for (const match of [tag, tag.slice(2), `"other", ${tag}`, "*"]) {
      const again = await poll(body, { ...ada?.headers, "if-none-match": match });
      expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", tag]);
    }
    await api.updateFeatureFlag({ body: { id: flag.id, defaultValue: "two" } });
    const changed = await poll(body, { ...ada?.headers, "if-none-match": tag });
    expect([changed.status, JSON.parse(changed.text).flags[flag.key].value]).toEqual([200, "two"]);
    expect(changed.headers.get("etag")).not.toBe(tag);
  });

  test("the tag of another user, context or selection does not hold", async () => {
    const path = await openPath();
    const { poll } = path;
    const flag = await make(path);
    const body = { prefix: flag.key };
    const ifUnchanged = { "if-none-match": (await poll(body, ada?.headers)).headers.get("etag") ?? "" };
    const statusOf = async (asked: object, person: Person | undefined) =>
      (await poll({ ...body, ...asked }, { ...person?.headers, ...ifUnchanged })).status;
    expect(await statusOf({}, ada)).toBe(304);
    expect(await statusOf({}, bob)).toBe(200);
    expect(await statusOf({}, undefined)).toBe(200);
    expect(await statusOf({ context: { attributes: { plan: "pro" } } }, ada)).toBe(200);
    expect(await statusOf({ select: "value" }, ada)).toBe(200);
  });

  test("the tag changes when an override expires, without a new revision", async () => {
    const path = await openPath();
    const { poll, api } = path;
    const flag = await make(path);
    const expiresAt = new Date(Date.now() + 1500).toISOString();
    await api.createFeatureFlagOverride({
      body: { flagId: flag.id, userId: ada?.id ?? "", value: "mine", expiresAt },
    });
    const body = { prefix: flag.key };
    const first = await poll(body, ada?.headers);
    expect(first.text).toContain('"mine"');
    const ifUnchanged = { "if-none-match": first.headers.get("etag") ?? "" };
    await expect
      .poll(async () => (await poll(body, { ...ada?.headers, ...ifUnchanged })).status, { interval: 20 })
      .toBe(200);
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expiresAt));
  });
});

describe("guide/flags-http: Bootstrap", () => {
  test("server code gets the flags whatever headers it passes", async () => {
    const headers = new Headers({ ...ada?.headers, "if-none-match": "*" });
    const { flags } = await host.auth.api.bootstrapFeatureFlags({ body: {}, headers });
    expect(flags).toBeTypeOf("object");
  });
});
