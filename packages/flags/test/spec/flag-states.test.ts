/** Checks what enabling, disabling and deleting a flag does to its evaluation. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";
import { everyone, WAYS } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

describe.each(WAYS)("guide/flags-http-admin: Flags (%s)", (_name, by) => {
  const way = () => by({ host, admin });

  async function createFullFlag() {
    const key = newKey();
    const { json: flag } = await way().createFlag({
      key,
      name: "N",
      type: "string",
      enabled: true,
      defaultValue: "fallback",
      rolloutPercentage: 100,
    });
    await way().createRule(flag.id, { priority: 1, conditions: everyone, value: "rule" });
    await way().createOverride({ flagId: flag.id, userId: "u", value: "override" });
    const seen = async () => {
      const { json } = await way().evaluate({ flagKey: key, default: "caller", context: { userId: "u" } });
      return [json.value, json.reason];
    };
    return { flag, seen };
  }

  test("a flag that is disabled evaluates to its defaultValue, even with rules, overrides and a rollout", async () => {
    const { flag, seen } = await createFullFlag();
    expect(await seen()).toEqual(["override", "override"]);
    expect((await way().updateFlag(flag.id, { enabled: false })).json.enabled).toBe(false);
    expect(await seen()).toEqual(["fallback", "disabled"]);
  });

  test("a flag that is enabled again evaluates its overrides, rules and rollout", async () => {
    const { flag, seen } = await createFullFlag();
    await way().updateFlag(flag.id, { enabled: false });
    expect((await way().updateFlag(flag.id, { enabled: true })).json.enabled).toBe(true);
    expect(await seen()).toEqual(["override", "override"]);
  });

  test("a deleted flag takes its rules and overrides with it, evaluates to not_found, and frees its key", async () => {
    const { flag, seen } = await createFullFlag();
    const deleted = await way().deleteFlag(flag.id);
    expect([deleted.status, deleted.text]).toEqual([204, ""]);
    expect(await seen()).toEqual(["caller", "not_found"]);
    expect((await way().listRules(flag.id)).status).toBe(404);
    expect((await way().listOverrides({ flagId: flag.id })).json.overrides).toEqual([]);
    await way().createFlag({ key: flag.key, name: "N", type: "string", enabled: true, defaultValue: "new" });
    expect(await seen()).toEqual(["new", "default"]);
  });

  test("changing or deleting a flag that does not exist is 404", async () => {
    for (const answer of [
      await way().updateFlag("nope", { enabled: true }),
      await way().deleteFlag("nope"),
    ]) {
      expect([answer.status, answer.json.code]).toEqual([404, "FLAG_NOT_FOUND"]);
    }
  });
});
