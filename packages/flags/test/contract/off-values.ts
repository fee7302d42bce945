/** The contract of the store for off values: what a disabled flag answers, and the warning where it changes nothing. */
import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/engine/json.ts";
import { by, everyone, flagInput, fresh, refusalOf, type StoreHost } from "./store-host.ts";
import { VALUES } from "./values.ts";

const codesOf = ({ warnings = [] }: { warnings?: readonly { code: string }[] }) =>
  warnings.map(({ code }) => code);
const IDLE = ["OFF_CHANGES_NOTHING"];

export function describeOffValues(host: () => StoreHost): void {
  describe("off values", () => {
    test("every off value is the value of the disabled flag, read from the rows and from the audit log", async () => {
      const tenant = fresh("tenant");
      const { store, another } = host();
      const follower = await another();
      const inputs = VALUES.map(([type, value]) =>
        flagInput({ type, enabled: true, offValue: value as JsonValue }),
      );
      const ids: string[] = [];
      for (const input of inputs) ids.push((await store.createFlag(by(tenant), input)).id);
      await follower.store.snapshot(tenant);
      for (const id of ids) await store.updateFlag(by(tenant), id, { enabled: false });
      const reader = await another();
      for (const node of [store, follower.store, reader.store]) {
        const { snapshot } = await node.snapshot(tenant, 2 * VALUES.length);
        for (const { key, offValue: value } of inputs) {
          const evaluated = snapshot.flags.get(key)?.compiled.evaluate({});
          expect(JSON.stringify(evaluated)).toBe(JSON.stringify({ value, reason: "disabled" }));
        }
      }
      await follower.close();
      await reader.close();
    });

    test("null clears the off value, except on a json flag, and an environment has its own", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      const environments = { prod: { enabled: false, offValue: "prod" } };
      const flag = await store.createFlag(
        by(tenant),
        flagInput({ type: "string", defaultValue: "on", offValue: "off", environments }),
      );
      const valueIn = async (environment: string) => {
        const { snapshot } = await store.snapshot(tenant);
        return snapshot.flags.get(flag.key)?.compiled.evaluate({ environment }).value;
      };
      expect([await valueIn("prod"), await valueIn("other")]).toEqual(["prod", "off"]);
      const cleared = await store.updateFlag(by(tenant), flag.id, { offValue: null });
      expect(cleared).not.toHaveProperty("offValue");
      expect([await valueIn("prod"), await valueIn("other")]).toEqual(["prod", "on"]);
      const json = await store.createFlag(by(tenant), flagInput({ type: "json", offValue: 1 }));
      expect((await store.updateFlag(by(tenant), json.id, { offValue: null })).offValue).toBeNull();
    });

    test("an off value that does not fit the type is refused, also when the type changes", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      const refused = { code: "INVALID_FLAG_TYPE", status: 400 };
      const create = (fields: object) => refusalOf(store.createFlag(by(tenant), flagInput(fields)));
      expect(await create({ offValue: "no" })).toMatchObject({ ...refused, details: { field: "offValue" } });
      expect(await create({ environments: { prod: { offValue: "no" } } })).toMatchObject({
        ...refused,
        details: { field: "environments.prod.offValue" },
      });
      const { id } = await store.createFlag(by(tenant), flagInput({ type: "string", offValue: "off" }));
      expect(await refusalOf(store.updateFlag(by(tenant), id, { type: "number" }))).toMatchObject(refused);
    });

    test("the audit log keeps the off value before and after a change", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      const { id } = await store.createFlag(by(tenant), flagInput({ offValue: true }));
      await store.updateFlag(by(tenant), id, { offValue: false });
      await store.deleteFlag(by(tenant), id);
      const entries = await store.listAudit({ tenant }, { limit: 3, offset: 0 });
      expect(entries.map(({ before, after }) => [before, after])).toMatchObject([
        [{ offValue: false }, null],
        [{ offValue: true }, { offValue: false }],
        [null, { offValue: true }],
      ]);
    });

    test("a write warns if it leaves a flag whose switch changes nothing, and stores no warning", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      const scope = by(tenant);
      const flag = await store.createFlag(scope, flagInput({ enabled: true, defaultValue: true }));
      expect(flag.warnings).toEqual([
        {
          code: "OFF_CHANGES_NOTHING",
          message: `Turning the flag "${flag.key}" off changes nothing: it answers true on and off. Set offValue to the value that the disabled flag must answer, or add a rule, a rollout or variants.`,
        },
      ]);
      expect(await store.getFlag(tenant, flag.id)).not.toHaveProperty("warnings");
      const update = async (patch: object) => codesOf(await store.updateFlag(scope, flag.id, patch));
      expect(await update({ enabled: false })).toEqual(IDLE);
      expect(await update({})).toEqual(IDLE);
      expect(await update({ offValue: false })).toEqual([]);
      expect(await update({ environments: { prod: { defaultValue: true, offValue: true } } })).toEqual(IDLE);
      expect(await update({ environments: null, offValue: null })).toEqual(IDLE);
      const rule = await store.createRule(scope, flag.id, {
        priority: 1,
        conditions: everyone,
        value: false,
      });
      expect(codesOf(rule)).toEqual([]);
      const change = async (patch: object) => codesOf(await store.updateRule(scope, flag.id, rule.id, patch));
      expect(await change({ enabled: false })).toEqual(IDLE);
      expect(await change({})).toEqual(IDLE);
      expect(await change({ enabled: true })).toEqual([]);
      const [entry] = await store.listAudit({ tenant }, { limit: 1, offset: 0 });
      expect(entry?.after).not.toHaveProperty("warnings");
      expect(await store.listRules(tenant, flag.id)).not.toContainEqual(
        expect.objectContaining({ warnings: expect.anything() }),
      );
    });
  });
}
