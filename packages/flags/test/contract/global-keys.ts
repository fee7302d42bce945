/** The contract of the store for the keys of global flags, which organizations cannot use unless the flag permits it. */
import { describe, expect, test } from "vitest";
import { by, flagInput, fresh, refusalOf, type StoreHost } from "./store-host.ts";

export function describeGlobalKeys(host: () => StoreHost): void {
  describe("global keys", () => {
    test("an organization cannot create or rename a flag to a global key, unless that flag is tenantOverridable", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      const input = flagInput();
      const global = await store.createFlag(by(""), input);
      const own = await store.createFlag(by(tenant), flagInput());
      const refused = { code: "VALIDATION_ERROR", status: 409, details: { field: "key" } };
      const { message, ...rest } = await refusalOf(store.createFlag(by(tenant), input));
      expect(rest).toMatchObject(refused);
      expect(message).toBe(
        `The key "${input.key}" belongs to a global flag that organizations cannot replace with their own. Choose another key, or ask an admin of the application to set tenantOverridable on the global flag.`,
      );
      const rename = () => store.updateFlag(by(tenant), own.id, { key: input.key });
      expect(await refusalOf(rename())).toMatchObject(refused);
      await store.updateFlag(by(""), global.id, { tenantOverridable: true });
      expect((await store.getFlag("", global.id)).tenantOverridable).toBe(true);
      expect((await rename()).key).toBe(input.key);
      expect((await store.createFlag(by(fresh("tenant")), input)).key).toBe(input.key);
    });

    test("a global flag for server code is never replaceable", async () => {
      const { store } = host();
      const input = flagInput({ visibility: "server" });
      const { id } = await store.createFlag(by(""), input);
      expect(
        (await refusalOf(store.createFlag(by(fresh("tenant")), flagInput({ key: input.key })))).status,
      ).toBe(409);
      const refused = { status: 400, details: { field: "tenantOverridable" } };
      expect(await refusalOf(store.updateFlag(by(""), id, { tenantOverridable: true }))).toMatchObject(
        refused,
      );
      const open = await store.createFlag(by(""), flagInput({ tenantOverridable: true }));
      expect(await refusalOf(store.updateFlag(by(""), open.id, { visibility: "server" }))).toMatchObject(
        refused,
      );
      const closed = await store.updateFlag(by(""), open.id, {
        visibility: "server",
        tenantOverridable: false,
      });
      expect(closed).toMatchObject({ visibility: "server", tenantOverridable: false });
    });

    test("a flag of an organization cannot be tenantOverridable", async () => {
      const input = flagInput({ tenantOverridable: true });
      expect(await refusalOf(host().store.createFlag(by(fresh("tenant")), input))).toMatchObject({
        status: 400,
        details: { field: "tenantOverridable" },
      });
    });

    test("flags of organizations are found by their keys, in many queries if there are many keys", async () => {
      const [one, two] = [fresh("tenant"), fresh("tenant")];
      const { store } = host();
      const [shared, own] = [flagInput(), flagInput()];
      await store.createFlag(by(one), shared);
      await store.createFlag(by(two), shared);
      await store.createFlag(by(two), own);
      await store.createFlag(by(""), flagInput({ key: shared.key }));
      const more = Array.from({ length: 1500 }, (_, at) => `missing-${at}`);
      const found = await store.findFlagsOfOrganizations([...more, shared.key, shared.key.toUpperCase()], 10);
      expect(found).toEqual([
        { organizationId: one, key: shared.key },
        { organizationId: two, key: shared.key },
      ]);
      expect(await store.findFlagsOfOrganizations([shared.key, own.key], 1)).toHaveLength(1);
      expect(await store.findFlagsOfOrganizations([], 10)).toEqual([]);
    });
  });
}
