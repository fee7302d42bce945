/** Checks flags in server code: typed reads, the bootstrap of a page, and warnings about wrong declarations. */
import { createServerFlags, defineFlags, type ServerReadOptions, serializeBootstrap } from "@halyard/flags";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Host, type Person, startHost } from "./host.ts";
import { flag, memoryHost, suiteHost } from "./memory-host.ts";

const declared = defineFlags({
  own: { type: "string", default: "declared" },
  missing: { type: "number", default: 7 },
  wrong: { type: "boolean", default: true },
  split: { type: "string", variants: ["a"] },
});
let host: Host;
let ada: Person;

suiteHost({}, async (started) => {
  host = started;
  ada = await host.person("ada");
  const make = (fields: object) =>
    host.auth.api.createFeatureFlag({ body: flag({ enabled: true, ...fields }) });
  const overridden = await make({ key: "own", defaultValue: "d" });
  await host.auth.api.createFeatureFlagOverride({
    body: { flagId: overridden.id, userId: ada.id, value: "ada's" },
  });
  await make({ key: "wrong", type: "string", defaultValue: "text" });
  await make({ key: "split", variants: [{ key: "b", weight: 100, value: "v" }] });
  await make({ key: "off", type: "boolean", enabled: false, defaultValue: true });
  await make({
    key: "visitor",
    bucketBy: "anonymousId",
    variants: [
      { key: "a", weight: 50, value: "a" },
      { key: "b", weight: 50, value: "b" },
    ],
  });
});
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => vi.restoreAllMocks());

const headersOf = (person: Person | undefined, cookies = "") =>
  new Headers({ cookie: [person?.headers["cookie"], cookies].filter(Boolean).join("; ") });

describe("createServerFlags", () => {
  test("evaluates for the caller of the request", async () => {
    const flags = createServerFlags(host.auth, declared);
    expect(await flags.getValue("own", { headers: headersOf(ada) })).toBe("ada's");
    expect(await flags.getValue("own", { headers: headersOf(undefined) })).toBe("d");
    expect(await flags.getValue("own", { context: { userId: ada.id } })).toBe("ada's");
    expect(await flags.getValue("own", { server: true })).toBe("d");
  });

  test("returns the caller's or the declared default for a flag that does not exist or does not fit its declaration", async () => {
    const flags = createServerFlags(host.auth, declared);
    expect(await flags.getValue("missing", { server: true })).toBe(7);
    expect(await flags.getValue("missing", { server: true }, 9)).toBe(9);
    expect(await flags.isEnabled("wrong", { server: true })).toBe(true);
    expect(await flags.isEnabled("wrong", { server: true }, false)).toBe(false);
    expect(await flags.getVariant("split", { server: true })).toBeNull();
    expect(await createServerFlags(host.auth).getVariant("split", { server: true })).toBe("b");
    expect(await createServerFlags(host.auth).isEnabled("off", { server: true })).toBe(true);
  });

  test("never throws, and returns the default if the claim is refused or the database fails", async () => {
    const flags = createServerFlags(host.auth, declared);
    const options = { headers: headersOf(ada), context: { userId: "bob" } };
    expect(await flags.getValue("own", options)).toBe("declared");
    expect(await flags.bootstrap(options)).toBeUndefined();
    expect(console.error).toHaveBeenCalledTimes(2);
  });

  test("returns the default and logs one error for a read that does not say for whom", async () => {
    const flags = createServerFlags(host.auth, declared);
    expect(await flags.getValue("own", {} as ServerReadOptions)).toBe("declared");
    expect(console.error).toHaveBeenCalledExactlyOnceWith(
      expect.stringContaining('"own"'),
      expect.objectContaining({ message: expect.stringContaining("`server: true`") }),
    );
  });

  test("treats absent options, `headers: undefined` and `server: false` as a read that does not say for whom", async () => {
    const flags = createServerFlags(host.auth);
    for (const noSubject of [undefined, {}, { headers: undefined }, { server: false }, { track: true }]) {
      const options = noSubject as ServerReadOptions;
      expect(await flags.isEnabled("off", options)).toBe(false);
      expect(await flags.getVariant("split", options)).toBeNull();
      expect(await flags.bootstrap(options)).toBeUndefined();
    }
    expect(console.error).toHaveBeenCalledTimes(15);
    expect(await flags.isEnabled("off", { context: {} })).toBe(true);
  });
});

describe("bootstrap", () => {
  test("has every flag, including disabled ones, and only the context that the page needs", async () => {
    const page = await createServerFlags(host.auth).bootstrap({ headers: headersOf(ada) });
    expect(page?.flags["own"]).toEqual({ value: "ada's", reason: "override" });
    expect(page?.flags["off"]).toEqual({ value: true, reason: "disabled" });
    expect(page?.context).toEqual({ userId: ada.id, anonymousId: expect.stringMatching(/^[\da-f-]{36}$/) });
    expect(JSON.stringify(page)).not.toContain(ada.email);
  });

  test("is for the anonymous visitor in the cookie, or for a new id without a cookie", async () => {
    const flags = createServerFlags(host.auth);
    const kept = async (cookies: string) =>
      (await flags.bootstrap({ headers: headersOf(undefined, cookies) }))?.context;
    expect(await kept("a=b; halyard_anonymous_id=visitor-1; c=d")).toEqual({ anonymousId: "visitor-1" });
    const [first, second] = [await kept(""), await kept("halyard_anonymous_id=<script>")];
    expect(first?.anonymousId).not.toBe(second?.anonymousId);
    const values = new Set<unknown>();
    for (let visitor = 0; visitor < 20; visitor++) {
      const headers = headersOf(undefined, `halyard_anonymous_id=visitor-${visitor}`);
      values.add((await flags.bootstrap({ headers }))?.flags["visitor"]?.value);
    }
    expect(values).toEqual(new Set(["a", "b"]));
  });

  test("has no anonymous id without headers, because all visitors of a cached page would share it", async () => {
    expect((await createServerFlags(host.auth).bootstrap({ server: true }))?.context).toEqual({});
  });

  test("is undefined and never rejects if the headers are invalid", async () => {
    const headers = { cookie: "a=b" } as unknown as Headers;
    expect(await createServerFlags(host.auth).bootstrap({ headers })).toBeUndefined();
  });

  test("is serialized so that it cannot end the script element, and parses to the same value", () => {
    const value = "</script><!-- \u2028 \u2029 &amp;";
    const page = { flags: { "<k>": { value } }, evaluatedAt: "2026-01-01T00:00:00.000Z" };
    const text = serializeBootstrap(page);
    expect(text).not.toMatch(/[<\u2028\u2029]/);
    expect(JSON.parse(text)).toEqual(page);
    expect(serializeBootstrap(undefined)).toBe("null");
  });
});

describe("declared flags", () => {
  test("are compared with the stored flags after the first request, and a warning names each difference", async () => {
    const messages: string[] = [];
    const flags = defineFlags({
      gone: { type: "boolean" },
      k: { type: "number" },
      fine: { type: "string", variants: ["a"] },
      values: { type: "string", values: ["x"], variants: ["a", "c"] },
    });
    const { auth } = await memoryHost({ flags: { flags }, log: (message) => messages.push(message) });
    await auth.api.createFeatureFlag({ body: flag({ key: "fine" }) });
    const warned = () => messages.filter((message) => message.includes("differ"));
    await vi.waitFor(() => expect(warned()).toHaveLength(1), 5_000);
    expect(warned()[0]).toContain("gone is declared but does not exist");
  });

  test("differ in types, values and variants, and the warning names each", async () => {
    const messages: string[] = [];
    const database = await memoryHost();
    const variants = [
      { key: "a", weight: 50, value: "x" },
      { key: "b", weight: 50, value: "y" },
    ];
    await database.auth.api.createFeatureFlag({ body: flag({ key: "values", defaultValue: "z", variants }) });
    await database.auth.api.createFeatureFlag({ body: flag({ key: "type" }) });
    const environments = { prod: { offValue: "v" }, stage: { defaultValue: "x" } };
    await database.auth.api.createFeatureFlag({ body: flag({ key: "off", offValue: "w", environments }) });
    await database.auth.api.createFeatureFlag({
      body: flag({ key: "fine", defaultValue: "x", offValue: "x" }),
    });
    const flags = defineFlags({
      type: { type: "number" },
      fine: { type: "string", values: ["x"] },
      off: { type: "string", values: ["x"] },
      values: { type: "string", values: ["x"], variants: ["a", "c"] },
    });
    const again = await startHost({
      database: database.db,
      migrate: false,
      flags: { flags },
      log: (message) => messages.push(message),
    });
    await again.evaluate({ flagKey: "type" });
    await vi.waitFor(() => expect(messages.join("\n")).toContain("differ"), 5_000);
    await again.close();
    const drifts = messages.find((message) => message.includes("differ"))?.match(/(?<= {2}- ).*/g);
    expect(drifts).toEqual([
      "type is declared as number but stored as string",
      'off has the value "w", which is not declared: value is "w", not one of "x"',
      'off has the value "v", which is not declared: value is "v", not one of "x"',
      'values has the value "z", which is not declared: value is "z", not one of "x"',
      'values has the value "y", which is not declared: value is "y", not one of "x"',
      "values has the variant b, which is not declared",
      "values is declared with the variant c, which is not stored",
    ]);
  });
});
