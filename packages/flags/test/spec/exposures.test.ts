/** Checks exposure tokens: which flags have them, what they count, and which fail. */
import { describe, expect, test, vi } from "vitest";
import { type Host, type Person, startHost } from "../host.ts";
import { memoryDatabase, memoryHost, newKey, suiteHost } from "../memory-host.ts";
import { experimentsOf, only, REPORT } from "./experiment-helpers.ts";

let host: Host;
let ann: Person;
let bob: Person;
suiteHost({}, async (started) => {
  host = started;
  ann = await host.person("ann");
  bob = await host.person("bob");
});
const { make, armsOf, tokenOf, report } = experimentsOf(() => host);

const HOUR_MS = 3_600_000;

describe("guide/flags-exposures: Tokens", () => {
  test("a response has tokens if the request asks for them, of flags with variants or a rollout", async () => {
    const prefix = newKey("tokens");
    await make({ key: `${prefix}-variants` });
    await make({ key: `${prefix}-rollout`, variants: undefined, rolloutPercentage: 10 });
    const environments = { beta: { rolloutPercentage: 10 } };
    await make({ key: `${prefix}-environment`, variants: undefined, environments });
    await make({ key: `${prefix}-plain`, variants: undefined });
    const keys = ["environment", "rollout", "variants"].map((name) => `${prefix}-${name}`);
    const flagKeys = [...keys, `${prefix}-plain`, "missing"];
    const bodies = {
      "evaluate-batch": { flagKeys },
      bootstrap: { prefix },
      evaluate: { flagKey: keys[0] },
    };
    for (const [path, body] of Object.entries(bodies)) {
      const without = await host.request(`/feature-flags/${path}`, { ...body, exposures: false });
      expect(without.json).not.toHaveProperty("exposures");
      for (const select of ["full", "value", []]) {
        const { json } = await host.request(`/feature-flags/${path}`, { ...body, exposures: true, select });
        expect(Object.keys(json.exposures).sort()).toEqual(path === "evaluate" ? [keys[0]] : keys);
      }
    }
    const plain = await host.evaluate({ flagKey: `${prefix}-plain`, exposures: true });
    expect(plain.json.exposures).toEqual({});
  });

  test("a reported token counts the arm that was shown, though the flag has changed since", async () => {
    const flag = await make({ variants: only("a") });
    const token = await tokenOf(flag, ann);
    await tokenOf(flag, bob);
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, variants: only("b") } });
    expect(await armsOf(flag)).toEqual({});
    expect(await report([token], ann)).toEqual({ success: 1, failed: 0 });
    expect(await armsOf(flag)).toEqual({ a: "1 1 | 0 0" });
  });

  test("a token counts once, however often and in whatever order it is reported", async () => {
    const flag = await make({ variants: only("a") });
    const tokens = [await tokenOf(flag, ann), await tokenOf(flag, ann)];
    for (let round = 0; round < 3; round++) {
      expect(await report([...tokens, ...tokens].reverse(), ann)).toEqual({ success: 4, failed: 0 });
    }
    expect(await armsOf(flag)).toEqual({ a: "1 1 | 0 0" });
  });

  test("forged, foreign and other invalid tokens fail, and do not fail the others", async () => {
    const flag = await make({ variants: only("a") });
    const [mine, theirs] = [await tokenOf(flag, ann), await tokenOf(flag, bob)];
    const other = await memoryHost({ auth: { secret: "another secret, as long as a secret has to be" } });
    const foreign = await tokenOf(await make({ key: flag.key }, other), undefined, undefined, other);
    const deleted = await make();
    const stale = await tokenOf(deleted, ann);
    await host.auth.api.deleteFeatureFlag({ body: { id: deleted.id } });
    const bad = [theirs, foreign, stale, `${mine}A`, mine.slice(1), "", "token", 7, null, [mine], { mine }];
    expect(await report([...bad, mine], ann)).toEqual({ success: 1, failed: bad.length });
    expect(await armsOf(flag)).toEqual({ a: "1 1 | 0 0" });
  });

  test("a visitor who has signed in since reports the token of before, and so does one who has signed out", async () => {
    const flag = await make({ variants: only("a"), bucketBy: "anonymousId" });
    const before = await tokenOf(flag, undefined, { anonymousId: "v1" });
    const after = await tokenOf(flag, bob, { anonymousId: "v2" });
    expect(await report([before], ann)).toEqual({ success: 1, failed: 0 });
    expect(await report([after])).toEqual({ success: 1, failed: 0 });
    expect(await armsOf(flag)).toEqual({ a: "2 2 | 0 0" });
  });

  test("a token is valid for 24 hours, and counts at the time of its evaluation", async () => {
    const own = await memoryHost();
    const flag = await make({ variants: only("a"), bucketBy: "anonymousId" }, own);
    const context = { anonymousId: "v" };
    const [token, late] = [
      await tokenOf(flag, undefined, context, own),
      await tokenOf(flag, undefined, context, own),
    ];
    const now = Date.now();
    vi.useFakeTimers({ now, toFake: ["Date"] });
    try {
      vi.setSystemTime(now + 24 * HOUR_MS - 60_000);
      expect(await report([token], undefined, own)).toEqual({ success: 1, failed: 0 });
      vi.setSystemTime(now + 24 * HOUR_MS);
      expect(await report([late], undefined, own)).toEqual({ success: 0, failed: 1 });
      const end = new Date(now + 60_000).toISOString();
      const stats = await own.auth.api.getFeatureFlagStats({ params: { id: flag.id }, query: { end } });
      expect(stats.byVariant["a"]?.exposures).toBe(1);
    } finally {
      vi.useRealTimers();
    }
  });

  test("a token of a previous secret is accepted after the secret was changed", async () => {
    const database = memoryDatabase();
    const [one, two] = ["first secret", "second secret"].map(
      (name) => `${name}, as long as a secret has to be`,
    ) as [string, string];
    const before = await startHost({ database, auth: { secrets: [{ version: 1, value: one }] } });
    const flag = await make({ variants: only("a"), bucketBy: "anonymousId" }, before);
    const token = await tokenOf(flag, undefined, { anonymousId: "v" }, before);
    await before.close();
    const secrets = [
      { version: 2, value: two },
      { version: 1, value: one },
    ];
    const after = await startHost({ database, migrate: false, auth: { secrets } });
    expect(await report([token], undefined, after)).toEqual({ success: 1, failed: 0 });
    await after.close();
  });

  test("a report has 1 to 1,000 tokens, else it is 400", async () => {
    const flag = await make();
    const token = await tokenOf(flag, ann);
    for (const body of [{}, { exposures: [] }, { exposures: token }, { exposures: { [flag.key]: token } }]) {
      const { status, json } = await host.request(REPORT, body, ann.headers);
      expect([status, json.code]).toEqual([400, "VALIDATION_ERROR"]);
    }
    const many = await host.request(REPORT, { exposures: Array(1001).fill("x") }, ann.headers);
    expect([many.status, many.json.code]).toEqual([400, "VALIDATION_ERROR"]);
    expect(many.json.details.limit).toBe(1000);
    const full = { exposures: Array.from({ length: 1000 }, () => "x".repeat(250)) };
    expect((await host.request(REPORT, full, ann.headers)).json).toEqual({ success: 0, failed: 1000 });
  });

  test("server code reports tokens without headers", async () => {
    const flag = await make({ variants: only("a") });
    const token = await tokenOf(flag, ann);
    const body = { exposures: [token] };
    expect(await host.auth.api.createFeatureFlagExposures({ body })).toEqual({ success: 1, failed: 0 });
    expect(await armsOf(flag)).toEqual({ a: "1 1 | 0 0" });
  });
});
