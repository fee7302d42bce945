/** The contract of the store for drafts: several changes that are checked, and then made as one. */
import { describe, expect, test } from "vitest";
import type { DraftChange, DraftFlagChange } from "../../src/model/plan-input.ts";
import type { DraftPreview, SeenDraft } from "../../src/store/flag-store.ts";
import { by, everyone, flagInput, fresh, refusalOf, type StoreHost } from "./store-host.ts";

const email = (value: string) => ({
  conditions: [{ attribute: "email", operator: "equals" as const, value }],
});

type Parts = Partial<Pick<DraftFlagChange, "fields" | "version">> & {
  readonly rules?: Partial<DraftFlagChange["rules"]>;
  readonly overrides?: Partial<DraftFlagChange["overrides"]>;
};

const flagChange = (id: string, { fields = {}, rules, overrides, version }: Parts): DraftChange => ({
  kind: "flag",
  id,
  version,
  fields,
  rules: { create: [], update: [], delete: [], ...rules },
  overrides: { create: [], delete: [], ...overrides },
});

export function describeDrafts(host: () => StoreHost): void {
  async function setUp(fields: Parameters<typeof flagInput>[0] = {}) {
    const tenant = fresh("tenant");
    const { store } = host();
    const scope = by(tenant);
    const flag = await store.createFlag(scope, flagInput({ enabled: true, type: "string", ...fields }));
    const make = (changes: readonly DraftChange[], seen?: SeenDraft) =>
      store.makeDraft({ ...scope, changeId: fresh("change") }, { changes }, () => undefined, seen);
    const preview = (changes: readonly DraftChange[]) => store.previewDraft(tenant, { changes });
    const value = async (context: object) =>
      (await store.snapshot(tenant)).snapshot.flags.get(flag.key)?.compiled.evaluate(context).value;
    const revision = async () => (await store.snapshot(tenant)).snapshot.revision;
    return { tenant, store, scope, flag, make, preview, value, revision };
  }

  /** What a preview says about the flag. */
  const valueAfter = (preview: DraftPreview, flagId: string, context: object) =>
    preview.after.compiled.get(flagId)?.evaluate(context).value;

  describe("drafts", () => {
    test("a preview evaluates the flag after all changes, and the draft makes exactly these", async () => {
      const { store, tenant, flag, make, preview, value } = await setUp({ defaultValue: "all" });
      const drop = await store.createRule(by(tenant), flag.id, {
        priority: 1,
        conditions: email("a"),
        value: "dropped",
      });
      const change = await store.createRule(by(tenant), flag.id, {
        priority: 2,
        conditions: email("b"),
        value: "old",
      });
      const override = await store.createOverride(by(tenant), { flagId: flag.id, userId: "u", value: "own" });
      const changes = [
        flagChange(flag.id, {
          fields: { defaultValue: "new" },
          rules: {
            delete: [{ id: drop.id }],
            update: [{ id: change.id, fields: { value: "changed", priority: 9 } }],
            create: [{ priority: 3, conditions: email("c"), value: "created", salt: "s" }],
          },
          overrides: { delete: [override.id], create: [{ userId: "u", value: "other" }] },
        }),
      ];
      const planned = await preview(changes);
      expect(await value({ email: "a" })).toBe("dropped");
      const { flags, changeId } = await make(changes);
      const contexts = ["a", "b", "c", "d"].map((of) => ({ email: of }));
      const values = await Promise.all(contexts.map(value));
      expect(values).toEqual(["new", "changed", "created", "new"]);
      expect(contexts.map((context) => valueAfter(planned, flag.id, context))).toEqual(values);
      const { snapshot } = await store.snapshot(tenant);
      for (const shown of [snapshot, planned.after])
        expect(shown.override(flag.id, "u", Date.now())?.value).toBe("other");
      expect(flags).toMatchObject([{ id: flag.id, version: 2, defaultValue: "new" }]);
      const entries = await store.listAudit({ tenant }, { changeId, limit: 10, offset: 0 });
      expect(entries.map(({ action }) => action).reverse()).toEqual([
        "override.deleted",
        "rule.deleted",
        "flag.updated",
        "rule.created",
        "rule.updated",
        "override.created",
      ]);
      expect(await store.verifyAudit(tenant)).toMatchObject({ ok: true });
    });

    test("what is only valid as a whole is accepted: a variant is renamed with the rule that uses it", async () => {
      const variants = [{ key: "old", weight: 100, value: "v" }];
      const { store, tenant, flag, make } = await setUp({ variants });
      const rule = await store.createRule(by(tenant), flag.id, {
        priority: 1,
        conditions: everyone,
        variant: "old",
      });
      const renamed = { fields: { variants: [{ key: "new", weight: 100, value: "v" }] } };
      const alone = [flagChange(flag.id, renamed)];
      expect((await refusalOf(make(alone))).status).toBe(409);
      const update = [{ id: rule.id, fields: { variant: "new" } }];
      const { changeId } = await make([flagChange(flag.id, { ...renamed, rules: { update } })]);
      expect(await store.listRules(tenant, flag.id)).toMatchObject([{ variant: "new" }]);
      const revert = { revert: changeId };
      await store.makeDraft({ ...by(tenant), changeId: fresh("change") }, revert, () => undefined);
      expect(await store.listRules(tenant, flag.id)).toMatchObject([{ variant: "old" }]);
      expect(await store.getFlag(tenant, flag.id)).toMatchObject({ variants });
    });

    test.each<[string, Parts | ((id: string) => Parts), number]>([
      ["a value of another type", { fields: { defaultValue: 5 } }, 400],
      ["a rule without value", { rules: { create: [{ priority: 1, conditions: everyone }] } }, 400],
      [
        "a rule with an unknown variant",
        { rules: { create: [{ priority: 1, conditions: everyone, variant: "none" }] } },
        400,
      ],
      [
        "a rule with an unknown segment",
        {
          rules: { create: [{ priority: 1, conditions: { conditions: [{ segment: "none" }] }, value: "x" }] },
        },
        400,
      ],
      ["a rule that does not exist", { rules: { delete: [{ id: "none" }] } }, 404],
      ["another version of the flag", { version: 7, fields: { name: "M" } }, 409],
      ["an override of another type", { overrides: { create: [{ userId: "w", value: 5 }] } }, 400],
      ["an override that a user has already", { overrides: { create: [{ userId: "u", value: "x" }] } }, 409],
      [
        "a new type that an override does not fit",
        (id) => ({ fields: { type: "number", defaultValue: 1 }, rules: { delete: [{ id }] } }),
        400,
      ],
    ])(
      "with %s, a preview is refused as the draft is, and nothing is written",
      async (_what, given, status) => {
        const { store, tenant, flag, make, preview, revision } = await setUp({ defaultValue: "x" });
        const rule = await store.createRule(by(tenant), flag.id, {
          priority: 5,
          conditions: everyone,
          value: "r",
        });
        await store.createOverride(by(tenant), { flagId: flag.id, userId: "u", value: "own" });
        const before = await revision();
        const other = await store.createSegment(by(tenant), { key: "seg", conditions: everyone });
        const changes: DraftChange[] = [
          { kind: "segment", id: other.id, fields: { conditions: email("z") } },
          flagChange(flag.id, typeof given === "function" ? given(rule.id) : given),
        ];
        const refused = await refusalOf(preview(changes));
        expect(refused.status).toBe(status);
        const { code, message, details } = await refusalOf(make(changes));
        expect({ code, message, details }).toEqual({
          code: refused.code,
          message: refused.message,
          details: refused.details,
        });
        expect(await revision()).toBe(before + 1);
        expect(await store.getSegment(tenant, other.id)).toEqual(other);
      },
    );

    test("a draft whose last write fails changes nothing", async () => {
      const { store, tenant, flag, revision } = await setUp({ defaultValue: "x" });
      const before = await revision();
      let checked = 0;
      const changes = [
        flagChange(flag.id, {
          fields: { defaultValue: "y" },
          overrides: { create: [{ userId: "u", value: "z" }] },
        }),
      ];
      const making = store.makeDraft({ ...by(tenant), changeId: fresh("change") }, { changes }, () => {
        checked += 1;
        if (checked === 2) throw new Error("not as declared");
      });
      await expect(making).rejects.toThrow();
      expect(await revision()).toBe(before);
      expect(await store.getFlag(tenant, flag.id)).toMatchObject({ defaultValue: "x", version: 1 });
    });

    test("conflicts name each touched field with its three values, and no other", async () => {
      const { store, tenant, scope, flag, make, preview } = await setUp({ defaultValue: "one" });
      const rule = await store.createRule(scope, flag.id, { priority: 1, conditions: everyone, value: "r" });
      const segment = await store.createSegment(scope, { key: "seg", name: "was", conditions: everyone });
      const override = await store.createOverride(scope, { flagId: flag.id, userId: "u", value: "own" });
      const changes: DraftChange[] = [
        flagChange(flag.id, {
          fields: { defaultValue: "two", description: "mine" },
          rules: { update: [{ id: rule.id, fields: { value: "s", percentage: 5 } }] },
          overrides: { delete: [override.id], create: [{ userId: "v", value: "mine" }] },
        }),
        { kind: "segment", id: segment.id, fields: { name: "mine" } },
      ];
      const { touched, digest } = await preview(changes);
      await store.updateFlag(scope, flag.id, { defaultValue: "theirs", offValue: "other" });
      await store.updateRule(scope, flag.id, rule.id, { percentage: 9, name: "other" });
      await store.updateSegment(scope, segment.id, { name: "theirs" });
      await store.deleteOverride(scope, override.id);
      await store.createOverride(scope, { flagId: flag.id, userId: "v", value: "theirs" });
      const { id: planId } = await store.storePlan("{}");
      const seen = { planId, touched, digest, drifted: new Error("drifted") };
      const { status, details } = await refusalOf(make(changes, seen));
      expect(status).toBe(409);
      const flagKey = flag.key;
      expect(details?.["conflicts"]).toEqual([
        { flagKey, field: "defaultValue", base: "one", theirs: "theirs", yours: "two" },
        { flagKey, ruleId: rule.id, field: "percentage", base: null, theirs: 9, yours: 5 },
        { flagKey, userId: "v", field: "value", base: null, theirs: "theirs", yours: "mine" },
        { flagKey, userId: "u", field: "value", base: "own", theirs: null, yours: null },
        { segmentKey: "seg", field: "name", base: "was", theirs: "theirs", yours: "mine" },
      ]);
      expect(await store.getFlag(tenant, flag.id)).toMatchObject({ version: 2 });
      // A refused plan stays, so that a caller can look at it again.
      expect(await store.findPlan(planId)).toBe("{}");
    });

    test("a change of one environment conflicts with the same setting of it, and with nothing of another", async () => {
      const environments = { staging: { enabled: true }, production: { enabled: true } };
      const { store, scope, flag, make, preview } = await setUp({ environments });
      const changes = [flagChange(flag.id, { fields: { environments: { staging: { enabled: false } } } })];
      const seenNow = async () => {
        const { id: planId } = await store.storePlan("{}");
        const { touched, digest } = await preview(changes);
        return { planId, touched, digest, drifted: new Error("drifted") };
      };
      const seen = await seenNow();
      await store.updateFlag(scope, flag.id, { environments: { production: { enabled: false } } });
      // Not a conflict: only the count may differ now.
      await expect(make(changes, seen)).rejects.toThrow();
      const { digest } = await seenNow();
      await make(changes, { ...seen, digest });
      const back = [flagChange(flag.id, { fields: { environments: { staging: null } } })];
      const { touched } = await preview(back);
      await store.updateFlag(scope, flag.id, { environments: { staging: { rolloutPercentage: 5 } } });
      const { details } = await refusalOf(make(back, { ...(await seenNow()), touched }));
      expect(details?.["conflicts"]).toEqual([
        {
          flagKey: flag.key,
          field: "environments.staging",
          base: { enabled: false },
          theirs: { enabled: false, rolloutPercentage: 5 },
          yours: null,
        },
      ]);
    });

    test("the digest changes with what decides, and not with names and notes", async () => {
      const { store, scope, flag, preview } = await setUp();
      const segment = await store.createSegment(scope, { key: "seg", conditions: email("a") });
      const named = { conditions: [{ segment: "seg" }] };
      const rule = await store.createRule(scope, flag.id, { priority: 1, conditions: named, value: "r" });
      const changes = [flagChange(flag.id, { fields: { offValue: "x" } })];
      const digest = async () => (await preview(changes)).digest;
      let before = await digest();
      await store.updateFlag(scope, flag.id, { name: "M", description: "d", metadata: { a: 1 } });
      await store.updateRule(scope, flag.id, rule.id, { name: "r" });
      await store.updateSegment(scope, segment.id, { name: "s" });
      await store.createFlag(scope, flagInput());
      expect(await digest()).toBe(before);
      const deciding: (() => Promise<unknown>)[] = [
        () => store.updateFlag(scope, flag.id, { defaultValue: "d" }),
        () => store.updateRule(scope, flag.id, rule.id, { enabled: false }),
        () => store.updateSegment(scope, segment.id, { conditions: email("b") }),
        () => store.createOverride(scope, { flagId: flag.id, userId: "u", value: "own" }),
      ];
      for (const change of deciding) {
        await change();
        const now = await digest();
        expect(now).not.toBe(before);
        before = now;
      }
    });

    test("a plan of any size is found whole by another process until it expires, and made once", async () => {
      const text = JSON.stringify({ long: "\u{1f600}é".repeat(60_000) });
      const { store, flag, make, preview } = await setUp();
      const { id: planId, expiresAt } = await store.storePlan(text);
      expect(Math.round((expiresAt.getTime() - Date.now()) / 86_400_000)).toBe(7);
      const other = await host().another({ nowMs: () => expiresAt.getTime() + 60_000 });
      expect(await (await host().another()).store.findPlan(planId)).toBe(text);
      expect(await other.store.findPlan(planId)).toBeUndefined();
      const changes = [flagChange(flag.id, { fields: { defaultValue: "new" } })];
      const { touched, digest } = await preview(changes);
      const seen = { planId, touched, digest, drifted: new Error("drifted") };
      const made = await Promise.allSettled([make(changes, seen), make(changes, seen)]);
      expect(made.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      expect(await store.findPlan(planId)).toBeUndefined();
      // Storing a plan deletes expired ones.
      const late = await store.storePlan("{}");
      await other.store.storePlan("{}");
      expect(await store.findPlan(late.id)).toBeUndefined();
    });

    test("a revert of a whole change brings back flags, rules and overrides, and its revert deletes them again", async () => {
      const { store, tenant, scope, flag } = await setUp();
      await store.createRule(scope, flag.id, { priority: 1, conditions: everyone, value: "r" });
      await store.createOverride(scope, { flagId: flag.id, userId: "u", value: "own" });
      await store.deleteFlag(scope, flag.id);
      const newest = async () =>
        (await store.listAudit({ tenant }, { limit: 1, offset: 0 }))[0]?.changeId ?? "";
      const revert = async (changeId: string) =>
        store.makeDraft({ ...scope, changeId: fresh("change") }, { revert: changeId }, () => undefined);
      const back = await revert(await newest());
      expect(back.flags).toMatchObject([{ id: flag.id }]);
      expect(await store.listRules(tenant, flag.id)).toHaveLength(1);
      const planned = await store.previewDraft(tenant, { revert: back.changeId });
      expect(planned.after.compiled.has(flag.id)).toBe(false);
      await revert(back.changeId);
      expect((await refusalOf(store.getFlag(tenant, flag.id))).status).toBe(404);
      expect((await refusalOf(revert("none"))).status).toBe(404);
    });
  });
}
