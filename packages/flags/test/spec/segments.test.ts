/** Checks segments over HTTP, and the rules that use them. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";
import { adminHelpers, isMissing } from "./admin-helpers.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

const { send, make } = adminHelpers(() => ({ host, admin }));

describe("guide/flags-http-admin: Segments", () => {
  test("a segment can be created, read, listed, changed, used in rules and deleted", async () => {
    const key = newKey("segment");
    const pro = { conditions: [{ attribute: "plan", operator: "equals", value: "pro" }] };
    const created = await send("POST", "/segments", { key, name: "S", conditions: pro });
    expect([created.status, created.json.key, created.json.conditions, created.json.version]).toEqual([
      201,
      key,
      pro,
      1,
    ]);
    const path = `/segments/${created.json.id}`;
    const read = await send("GET", path);
    expect([read.status, read.json, read.headers.get("etag")]).toEqual([200, created.json, '"1"']);
    const listed = await send("GET", "/segments?sort=key&limit=200");
    expect(listed.json.segments).toContainEqual(created.json);
    expect(listed.json.page.limit).toBe(200);
    expect((await send("POST", "/segments", { key, conditions: pro })).status).toBe(409);
    expect((await send("POST", "/segments", { key: "a b", conditions: pro })).status).toBe(400);
    expect((await send("PATCH", path, { key: "other" })).status).toBe(400);

    const flag = await make({ defaultValue: "v" });
    const rule = { priority: 1, conditions: { conditions: [{ segment: key }] }, value: "r" };
    expect((await send("POST", `/flags/${flag.id}/rules`, rule)).status).toBe(201);
    const seen = async (plan: string) =>
      (await host.evaluate({ flagKey: flag.key, context: { attributes: { plan } } })).json.value;
    expect([await seen("pro"), await seen("free")]).toEqual(["r", "v"]);
    const free = { conditions: [{ attribute: "plan", operator: "equals", value: "free" }] };
    expect((await send("PATCH", path, { conditions: free, name: null })).status).toBe(200);
    expect([await seen("pro"), await seen("free")]).toEqual(["v", "r"]);

    const child = { key: newKey("segment"), conditions: { conditions: [{ segment: key }] } };
    const using = (await send("POST", "/segments", child)).json;
    const refused = await send("DELETE", path);
    expect([refused.status, refused.json.message]).toEqual([
      409,
      `The segment "${key}" is still used by the segment "${child.key}", the flag "${flag.key}". Remove it there first.`,
    ]);
    expect((await send("DELETE", `/segments/${using.id}`)).status).toBe(204);
    expect((await send("PATCH", path, { conditions: { conditions: [{ segment: key }] } })).status).toBe(400);
    await send("DELETE", `/flags/${flag.id}`);
    const deleted = await send("DELETE", path);
    expect([deleted.status, deleted.text]).toEqual([204, ""]);
    isMissing(await send("GET", path), "segment");
    const { entries } = (await send("GET", "/audit?limit=200")).json;
    const segmentEntries = entries.filter(
      (entry: { entityId: string }) => entry.entityId === created.json.id,
    );
    expect(segmentEntries.map((entry: { action: string }) => entry.action)).toEqual([
      "segment.deleted",
      "segment.updated",
      "segment.created",
    ]);
  });
});
