/** The contract of the store for snapshots that follow the audit log: they equal snapshots that read all rows. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AuditRow } from "../../src/model/tables.ts";
import type { FlagStore } from "../../src/store/flag-store.ts";
import { createFlagStore } from "../../src/store/store.ts";
import { afterEveryRead, by, everyone, fresh, type Node, type StoreHost } from "./store-host.ts";

const USERS = ["u", "v", "w"];
/** Enough users to see a difference in shares. */
const CONTEXTS = [...USERS, ...Array.from({ length: 40 }, (_, index) => `${index}`)].map((userId) => ({
  userId,
}));
const PAGE = { limit: 200, sort: "createdAt", descending: false } as const;

/** One step of a random walk: an action and the entity it changes. */
type Step = readonly [action: number, target: number];

export function describeFollowing(host: () => StoreHost): void {
  describe("a process that follows the changes", () => {
    test("has the same flags, rules, segments and overrides as one that reads all rows", async () => {
      const writer = await host().another();
      const follower = await host().another();
      const step = fc.tuple(fc.nat(ACTIONS.length - 1), fc.nat(1000));
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60 }), async (steps) => {
          const tenant = fresh("tenant");
          for (const [index, taken] of steps.entries()) {
            await take(writer.store, tenant, taken);
            if (index % 5 === 0) await view(follower, tenant);
          }
          const { revision } = (await writer.store.snapshot(tenant)).snapshot;
          const reader = await host().another();
          const whole = await view(reader, tenant);
          await reader.close();
          expect(whole.revision).toBe(revision);
          expect(await view(writer, tenant)).toEqual(whole);
          expect(await view(follower, tenant)).toEqual(whole);
        }),
        { numRuns: 8 },
      );
      await writer.close();
      await follower.close();
    });
  });

  describe("a process that follows the changes of a rule", () => {
    test("takes the rule's salt and position from the log", async () => {
      const tenant = fresh("tenant");
      const [writer, follower] = [await host().another(), await host().another()];
      const { store } = writer;
      const { id: flagId } = await store.createFlag(by(tenant), {
        ...{ key: fresh("flag"), name: "N", type: "number", enabled: true, defaultValue: 0 },
      } as const);
      const rules = [];
      for (const value of [1, 2]) {
        const input = { priority: 1, conditions: everyone, value, percentage: 50 };
        rules.push(await store.createRule(by(tenant), flagId, input));
      }
      await view(follower, tenant);
      // An import gives rules the salts and the order that they had elsewhere.
      for (const [index, { id: ruleId }] of rules.entries()) {
        await host().adapter.update({
          model: "featureFlagRule",
          where: [{ field: "ruleId", value: ruleId }],
          update: { salt: `imported ${index}`, position: 10 - index },
        });
      }
      // A process that has the rules in memory would not see the import.
      const importer = await host().another();
      for (const { id } of rules) {
        await importer.store.updateRule(by(tenant), flagId, id, { name: "imported" });
      }
      const reader = await host().another();
      expect(await view(follower, tenant)).toEqual(await view(reader, tenant));
      for (const node of [writer, follower, importer, reader]) await node.close();
    });

    test("skips an action that it does not know", async () => {
      const tenant = fresh("tenant");
      const { store, adapter, another } = host();
      const node = await another();
      const read = new Set<string>();
      const watched = afterEveryRead(node.adapter, async (model) => void read.add(model));
      const follower = { store: createFlagStore(watched, { pollMs: 0, warn: () => {} }) };
      await createFlag(store, tenant, 1);
      const before = await view(follower, tenant);
      read.clear();
      const where = [{ field: "tenant", value: tenant }];
      const [last] = await adapter.findMany<AuditRow>({ model: "featureFlagAudit", where });
      if (last === undefined) throw new Error("there is a write before this one");
      const { id: _id, ...fields } = last;
      const data = { ...fields, entryId: fresh("entry"), revision: 2, prevHash: last.hash, hash: "h" };
      await adapter.create({ model: "featureFlagAudit", data: { ...data, action: "view.created" } });
      const update = { revision: 2, auditHash: "h" };
      await adapter.update({ model: "featureFlagRevision", where, update });
      expect(await view(follower, tenant)).toEqual({ ...before, revision: 2 });
      // All rows were not read again.
      expect([...read]).toEqual(["featureFlagAudit"]);
      await follower.store.close();
      await node.close();
    });
  });

  describe("a process that reads while others write", () => {
    test("has exactly the state of its revision", async () => {
      const writer = await host().another();
      const node = await host().another();
      const step = fc.tuple(fc.nat(ACTIONS.length - 1), fc.nat(1000));
      let before: (() => Promise<void>) | undefined;
      const adapter = afterEveryRead(node.adapter, async () => before?.());
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 80 }), async (steps) => {
          const tenant = fresh("tenant");
          const history = new Map<number, unknown>();
          const left = [...steps];
          async function takeNext(): Promise<void> {
            const next = left.shift();
            if (next === undefined) return;
            await take(writer.store, tenant, next);
            const now = await view(writer, tenant);
            history.set(now.revision, now);
          }
          for (let made = 0; made < 20; made++) await takeNext();
          before = takeNext;
          const reader = createFlagStore(adapter, { pollMs: 0, warn: () => {} });
          while (left.length > 0) {
            const seen = await view({ store: reader }, tenant);
            expect(seen).toEqual(history.get(seen.revision));
            await takeNext();
          }
          before = undefined;
          await reader.close();
        }),
        { numRuns: 8 },
      );
      await writer.close();
      await node.close();
    });

    test("reads only the changes if it has a snapshot", async () => {
      const tenant = fresh("tenant");
      const { store, another } = host();
      const node = await another();
      const read = new Set<string>();
      const adapter = afterEveryRead(node.adapter, async (model) => void read.add(model));
      const reader = createFlagStore(adapter, { pollMs: 0, warn: () => {} });
      for (let made = 0; made < 3; made++) await createFlag(store, tenant, made);
      await view({ store: reader }, tenant);
      read.clear();
      for (const [action] of ACTIONS.entries()) await take(store, tenant, [action, 3]);
      const seen = await view({ store: reader }, tenant);
      expect([...read]).toEqual(["featureFlagAudit"]);
      expect(seen).toEqual(await view({ store }, tenant));
      await reader.close();
      await node.close();
    });
  });

  async function view({ store }: Pick<Node, "store">, tenant: string) {
    // Never reached, so the newest revision is read first.
    const { snapshot } = await store.snapshot(tenant, Number.MAX_SAFE_INTEGER);
    return {
      revision: snapshot.revision,
      flags: [...snapshot.flags].map(([key, { flag, compiled }]) => ({
        key,
        flag,
        answers: CONTEXTS.map((context) =>
          compiled.evaluate(context, snapshot.override(flag.id, context.userId, 0)),
        ),
      })),
    };
  }
}

type Action = (store: FlagStore, tenant: string, target: number) => Promise<unknown>;

const pick = <Item>(items: readonly Item[], target: number): Item | undefined =>
  items[target % Math.max(items.length, 1)];

async function flagOf(store: FlagStore, tenant: string, target: number) {
  return pick((await store.listFlags({ tenant }, PAGE)).flags, target);
}

async function segmentOf(store: FlagStore, tenant: string, target: number) {
  return pick((await store.listSegments({ tenant }, PAGE)).segments, target);
}

const createFlag: Action = (store, tenant, target) =>
  store.createFlag(by(tenant), {
    key: fresh("flag"),
    name: "N",
    type: "number",
    enabled: true,
    defaultValue: target,
  });

const ACTIONS: readonly Action[] = [
  createFlag,
  async (store, tenant, target) => {
    const flag = await flagOf(store, tenant, target);
    if (flag) await store.updateFlag(by(tenant), flag.id, { defaultValue: target, key: fresh("flag") });
  },
  async (store, tenant, target) => {
    const flag = await flagOf(store, tenant, target);
    if (flag && target % 3 === 0) await store.deleteFlag(by(tenant), flag.id);
  },
  async (store, tenant, target) => {
    const flag = await flagOf(store, tenant, target);
    const segment = await segmentOf(store, tenant, target);
    const conditions = segment ? { conditions: [{ segment: segment.key }] } : everyone;
    if (flag) {
      await store.createRule(by(tenant), flag.id, { priority: target % 7, conditions, value: target });
    }
  },
  async (store, tenant, target) => {
    const flag = await flagOf(store, tenant, target);
    const rule = flag && pick(await store.listRules(tenant, flag.id), target);
    if (rule && target % 2 === 0) await store.deleteRule(by(tenant), rule.flagId, rule.id);
    else if (rule) await store.updateRule(by(tenant), rule.flagId, rule.id, { value: -target });
  },
  async (store, tenant, target) => {
    const flag = await flagOf(store, tenant, target);
    const userId = pick(USERS, target) ?? "u";
    // A second override for the same user is refused.
    const input = { flagId: flag?.id ?? "", userId, value: target, enabled: target % 4 > 0 };
    await store.createOverride(by(tenant), input).catch(() => undefined);
  },
  async (store, tenant, target) => {
    const override = pick((await store.listOverrides({ tenant }, PAGE)).overrides, target);
    if (override) await store.deleteOverride(by(tenant), override.id);
  },
  (store, tenant) => store.createSegment(by(tenant), { key: fresh("segment"), conditions: everyone }),
  async (store, tenant, target) => {
    const segment = await segmentOf(store, tenant, target);
    const value = pick(USERS, target) ?? "u";
    const conditions = { conditions: [{ attribute: "userId", operator: "equals" as const, value }] };
    if (segment) await store.updateSegment(by(tenant), segment.id, { conditions });
  },
];

async function take(store: FlagStore, tenant: string, [action, target]: Step): Promise<void> {
  await ACTIONS[action]?.(store, tenant, target);
}
