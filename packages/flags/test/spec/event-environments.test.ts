/** Checks that exposures and events are credited within their environment, and that events need no flag. */
import { describe, expect, test } from "vitest";
import type { EventRow } from "../../src/model/event-rows.ts";
import type { Host, Person } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";
import { isRefused } from "./event-helpers.ts";
import { experimentsOf, type Flag, only } from "./experiment-helpers.ts";

let host: Host;
let ann: Person;
suiteHost({}, async (started) => {
  host = started;
  ann = await host.person("ann");
});
const { make, tokenOf, report } = experimentsOf(() => host);

const event = (body: object, as?: Person, headers: object = {}) =>
  host.request("/feature-flags/events", body, { ...as?.headers, ...headers });

/** Clicks by arm, in one environment or in all. */
async function clicksOf({ id }: Flag, environment?: string): Promise<Record<string, number>> {
  const query = environment === undefined ? {} : { environment };
  const { byVariant } = await host.auth.api.getFeatureFlagStats({ params: { id }, query });
  const counts = Object.entries(byVariant).map(([arm, { events }]) => [arm, events["click"]?.count ?? 0]);
  return Object.fromEntries(counts);
}

describe("guide/flags-exposures: Credit", () => {
  test("an event is credited within its environment, and statistics are of one or of all", async () => {
    const flag = await make({ variants: only("a") });
    const body = { flagKey: flag.key, track: true };
    await host.evaluate({ ...body, environment: "staging" }, ann);
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, variants: only("b") } });
    await host.evaluate({ ...body, environment: "production" }, ann);
    const click = { flagKey: flag.key, event: "click" };
    await event({ ...click, environment: "staging" }, ann);
    await event(click, ann, { "x-deployment-ring": "production" });
    const path = "/feature-flags/events/batch";
    const events = [{ ...click, environment: "production" }, click];
    expect((await host.request(path, { events }, ann.headers)).json.success).toBe(2);
    expect(await clicksOf(flag)).toEqual({ a: 1, b: 2, "": 1 });
    expect(await clicksOf(flag, "staging")).toEqual({ a: 1 });
    expect(await clicksOf(flag, "production")).toEqual({ b: 2 });
    expect(await clicksOf(flag, "other")).toEqual({});
  });

  test("a token has the environment of its evaluation", async () => {
    const flag = await make({ variants: only("a") });
    const { json } = await host.evaluate({ flagKey: flag.key, exposures: true, environment: "staging" }, ann);
    expect((await report([json.exposures[flag.key]], ann)).success).toBe(1);
    expect(await clicksOf(flag, "staging")).toEqual({ a: 0 });
    expect((await report([await tokenOf(flag, ann)], ann)).success).toBe(1);
    expect(await clicksOf(flag, "production")).toEqual({});
  });
});

describe("guide/flags-events: Event", () => {
  test("an event without a flag is stored for signed-in callers and server code, and counts in usage only", async () => {
    const name = newKey();
    const before = (await host.auth.api.getFeatureFlagUsage()).events;
    expect((await event({ event: name }, ann)).status).toBe(200);
    await host.auth.api.createFeatureFlagEvent({ body: { event: name, context: { userId: "u" } } });
    const where = [{ field: "event", value: name }];
    const rows = await host.adapter.findMany<EventRow>({ model: "featureFlagEvent", where });
    expect(rows.map(({ flagKey, flagId, userId }) => [flagKey, flagId, userId]).sort()).toEqual(
      [
        [null, null, ann.id],
        [null, null, "u"],
      ].sort(),
    );
    expect((await host.auth.api.getFeatureFlagUsage()).events).toBe(before + 2);
  });

  test("an event without a flag is refused for an anonymous caller, and fails alone in a batch", async () => {
    isRefused(await event({ event: "click" }), 400, "VALIDATION_ERROR");
    const { key } = await make();
    const events = [{ event: "click" }, { event: "click", flagKey: key }];
    const { json } = await host.request("/feature-flags/events/batch", { events });
    expect(json).toMatchObject({ success: 1, failed: 1 });
  });
});
