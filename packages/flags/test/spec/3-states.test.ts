/** Contract: "States and transitions". */
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

describe.each(WAYS)("States and transitions, %s", (_name, by) => {
  const way = () => by({ host, admin });

  async function full() {
    const key = newKey();
    const { json: flag } = await way().createFlag({
      key,
      name: "N",
      type: "string",
      enabled: true,
      defaultValue: "own",
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

  test("enabled → disabled: defaultValue with reason disabled, whatever else there is", async () => {
    const { flag, seen } = await full();
    expect(await seen()).toEqual(["override", "override"]);
    expect((await way().updateFlag(flag.id, { enabled: false })).json.enabled).toBe(false);
    expect(await seen()).toEqual(["own", "disabled"]);
  });

  test("disabled → enabled: evaluation proceeds", async () => {
    const { flag, seen } = await full();
    await way().updateFlag(flag.id, { enabled: false });
    expect((await way().updateFlag(flag.id, { enabled: true })).json.enabled).toBe(true);
    expect(await seen()).toEqual(["override", "override"]);
  });

  test("any → deleted: everything of it is gone, evaluation gives not_found, and the key is free", async () => {
    const { flag, seen } = await full();
    const deleted = await way().deleteFlag(flag.id);
    expect([deleted.status, deleted.text]).toEqual([204, ""]);
    expect(await seen()).toEqual(["caller", "not_found"]);
    expect((await way().listRules(flag.id)).status).toBe(404);
    expect((await way().listOverrides({ flagId: flag.id })).json.overrides).toEqual([]);
    await way().createFlag({ key: flag.key, name: "N", type: "string", enabled: true, defaultValue: "new" });
    expect(await seen()).toEqual(["new", "default"]);
  });

  test("a flag that does not exist moves nowhere: 404", async () => {
    for (const answer of [
      await way().updateFlag("nope", { enabled: true }),
      await way().deleteFlag("nope"),
    ]) {
      expect([answer.status, answer.json.code]).toEqual([404, "FLAG_NOT_FOUND"]);
    }
  });
});
