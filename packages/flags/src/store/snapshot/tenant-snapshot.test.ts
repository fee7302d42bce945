import { describe, expect, test } from "vitest";
import type { FlagRow, OverrideRow, RevisionRow, RuleRow, SegmentRow } from "../../model/tables.ts";
import { toFlag } from "../rows/flags.ts";
import { toOverride } from "../rows/overrides.ts";
import type { Adapter } from "../rows/queries.ts";
import { toRule } from "../rows/rules.ts";
import { toSegment } from "../rows/segments.ts";
import type { ChangeRow } from "../writes/audit.ts";
import type { ChainEnd } from "../writes/revision.ts";
import { BadSnapshot } from "./errors.ts";
import { loadSnapshot, type TenantSnapshot } from "./tenant-snapshot.ts";

const at = new Date(0);
const id = (prefix: string, index: number) => `${prefix}-${String(index).padStart(6, "0")}`;

const flagRow = (index: number): FlagRow => ({
  id: "",
  tenant: "",
  flagId: id("flag", index),
  key: id("key", index),
  organizationId: null,
  name: "N",
  description: null,
  type: "boolean",
  enabled: true,
  defaultValue: null,
  offValue: null,
  rolloutPercentage: 50,
  variants: null,
  environments: null,
  salt: null,
  bucketBy: null,
  visibility: "public",
  tenantOverridable: null,
  algo: 1,
  metadata: null,
  version: 1,
  createdAt: at,
  updatedAt: at,
});

const overrideRow = (index: number): OverrideRow => ({
  id: "",
  tenant: "",
  overrideId: id("override", index),
  flagId: id("flag", 0),
  userId: id("user", index),
  userHash: "",
  value: "true",
  variant: null,
  enabled: true,
  reason: null,
  expiresAt: null,
  createdAt: at,
});

const ruleRow = (index: number, flag = 0): RuleRow => ({
  ...{ id: "", tenant: "", ruleId: id("rule", index), flagId: id("flag", flag), priority: "1", name: null },
  ...{ conditions: '{"conditions":[]}', value: "true", variant: null, percentage: null, enabled: true },
  ...{ environments: null, salt: "", version: 1, position: index, createdAt: at },
});

const segmentRow = (index: number, conditions: object): SegmentRow => ({
  ...{ id: "", tenant: "", segmentId: id("segment", index), organizationId: null, key: id("key", index) },
  ...{ name: null, conditions: JSON.stringify(conditions), version: 1, createdAt: at, updatedAt: at },
});

/** An entry of the audit log that follows the entry before it. Its hash is that of `endOf`. */
const change = (revision: number, action: ChangeRow["action"], entityId: string, after?: object) => ({
  ...{ tenant: "", revision, action, flagId: id("flag", 0), entityId },
  after: after === undefined ? null : JSON.stringify(after),
  prevHash: endOf(revision - 1).auditHash,
  hash: endOf(revision).auditHash,
});

const endOf = (revision: number): ChainEnd => ({ revision, auditHash: `h${revision}` });

type Tables = Readonly<Record<string, readonly object[]>>;

/**
 * A database that answers at once, so that only the loading itself takes time. Rows must be sorted. `ends` are the
 * revisions that one read after the other finds.
 */
function instantDatabase(tables: Tables, ends: readonly ChainEnd[] = []): Adapter & { reads: string[] } {
  const left = [...ends];
  const reads: string[] = [];
  const adapter: Pick<Adapter, "findOne" | "findMany"> & { reads: string[] } = {
    reads,
    async findOne<Row>() {
      const end = (left.length > 1 ? left.shift() : left[0]) ?? endOf(1);
      const row: RevisionRow = { ...end, id: "", tenant: "", auditAt: null, counter: null, seq: null };
      return row as Row;
    },
    async findMany<Row>({ model, where = [], limit }: Parameters<Adapter["findMany"]>[0]) {
      reads.push(model);
      const matches = (row: object) =>
        where.every(({ field, operator, value }) => {
          const stored = row[field as keyof typeof row] as string | number;
          const wanted = value as string | number;
          if (operator === "gt") return stored > wanted;
          return operator === "lte" ? stored <= wanted : stored === wanted;
        });
      return (tables[model] ?? []).filter(matches).slice(0, limit) as Row[];
    },
  };
  return adapter as Adapter & { reads: string[] };
}

/** How often anything else got its turn while `work` was done. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  await work;
  clearInterval(timer);
  return turns;
}

const VARIANTS = ["a", "b"].map((key) => ({ key, value: true, weight: 50 }));
const VARIED: FlagRow = { ...flagRow(0), variants: JSON.stringify(VARIANTS) };
const IN_SEGMENT = { conditions: [{ segment: id("key", 0) }] };
const NOBODY = { conditions: [], not: { conditions: [] } };

/** The keys and the values of a user's flags. */
const valuesOf = ({ flags }: TenantSnapshot) =>
  [...flags].map(([key, { compiled }]) => [key, compiled.evaluate({ userId: "u" }).value]);

describe("loading a snapshot", () => {
  test("of many flags yields to the event loop between slices of the work", async () => {
    const flags = Array.from({ length: 1999 }, (_, index) => flagRow(index));
    const adapter = instantDatabase({ featureFlag: flags });
    expect(await turnsDuring(loadSnapshot(adapter, "", endOf(1)))).toBeGreaterThanOrEqual(3);
  });

  test("of few flags with many rules yields as well", async () => {
    const adapter = instantDatabase({
      featureFlag: [0, 1, 2, 3].map(flagRow),
      featureFlagRule: Array.from({ length: 4 * 99 }, (_, index) => ruleRow(index, index % 4)),
    });
    expect(await turnsDuring(loadSnapshot(adapter, "", endOf(1)))).toBeGreaterThanOrEqual(1);
  });

  test("of a flag with many overrides yields if they must be checked again", async () => {
    const tables = {
      featureFlag: [flagRow(0), flagRow(1)],
      featureFlagOverride: Array.from({ length: 20_000 }, (_, index) => overrideRow(index)),
      featureFlagAudit: [
        change(2, "flag.updated", id("flag", 1), toFlag(flagRow(1))),
        change(3, "flag.updated", id("flag", 0), toFlag(flagRow(0))),
      ],
    };
    const first = await loadSnapshot(instantDatabase(tables), "", endOf(1));
    const second = loadSnapshot(instantDatabase(tables), "", endOf(2), first);
    expect(await turnsDuring(second)).toBe(0);
    const third = loadSnapshot(instantDatabase(tables), "", endOf(3), await second);
    expect(await turnsDuring(third)).toBeGreaterThanOrEqual(1);
  });

  test("of few flags does not yield", async () => {
    const adapter = instantDatabase({ featureFlag: [flagRow(0)], featureFlagOverride: [overrideRow(0)] });
    expect(await turnsDuring(loadSnapshot(adapter, "", endOf(1)))).toBe(0);
  });

  test("of a tenant without changes reads no table", async () => {
    const adapter = instantDatabase({ featureFlag: [flagRow(0)] });
    const snapshot = await loadSnapshot(adapter, "", { revision: 0, auditHash: "" });
    expect([snapshot.revision, snapshot.flags.size, adapter.reads]).toEqual([0, 0, []]);
  });
});

describe("a snapshot of all rows", () => {
  const load = (tables: Tables, ends?: readonly ChainEnd[]) =>
    loadSnapshot(instantDatabase(tables, ends), "", endOf(1));

  test("has its flags sorted by key, and their rules by priority", async () => {
    const snapshot = await load({
      featureFlag: ["b", "c", "a"].map((key, index) => ({ ...flagRow(index), key, type: "number" })),
      featureFlagRule: [
        { ...ruleRow(0), priority: "2", value: "2" },
        { ...ruleRow(1), priority: "1", value: "1" },
        { ...ruleRow(2), conditions: JSON.stringify(IN_SEGMENT), priority: "0", value: "0" },
        { ...ruleRow(3, 1), conditions: JSON.stringify(IN_SEGMENT), value: "7" },
      ],
      featureFlagSegment: [segmentRow(0, NOBODY)],
    });
    expect(valuesOf(snapshot)).toEqual([
      ["a", 0],
      ["b", 1],
      ["c", 0],
    ]);
  });

  test("has a user's override of a flag until it expires", async () => {
    const row = { ...overrideRow(0), expiresAt: new Date(5000).toISOString() };
    const snapshot = await load({ featureFlag: [flagRow(0), flagRow(1)], featureFlagOverride: [row] });
    const override = (flag: number, user: number, nowMs: number) =>
      snapshot.override(id("flag", flag), id("user", user), nowMs);
    expect(override(0, 0, 4999)).toMatchObject({ value: true });
    expect([override(0, 0, 5000), override(0, 1, 0), override(1, 0, 0)]).toEqual(Array(3).fill(undefined));
  });

  test("has the changes that were committed during the read", async () => {
    const changed = change(2, "flag.updated", id("flag", 0), toFlag({ ...flagRow(0), key: "renamed" }));
    const snapshot = await load({ featureFlag: [flagRow(0)], featureFlagAudit: [changed] }, [endOf(2)]);
    expect([snapshot.revision, snapshot.auditHash]).toEqual([2, "h2"]);
    expect([...snapshot.flags.keys()]).toEqual(["renamed"]);
  });

  test("is read again if a backup was restored during the read", async () => {
    const restored = { revision: 1, auditHash: "other" };
    const adapter = instantDatabase({ featureFlag: [flagRow(0)] }, [restored]);
    expect(await loadSnapshot(adapter, "", endOf(1))).toMatchObject(restored);
    expect(adapter.reads.filter((model) => model === "featureFlag")).toHaveLength(2);
  });

  test("is refused if three reads in a row do not fit the audit log", async () => {
    const adapter = instantDatabase({ featureFlag: [flagRow(0)] }, [2, 3, 4, 5, 6].map(endOf));
    await expect(loadSnapshot(adapter, "", endOf(1))).rejects.toThrow(
      new BadSnapshot("The audit log has a gap, so the flags that were read do not match a revision."),
    );
    expect(adapter.reads.filter((model) => model === "featureFlag")).toHaveLength(3);
  });

  test.each<[string, Tables, string]>([
    [
      "a flag cannot be evaluated",
      { featureFlag: [{ ...flagRow(0), rolloutPercentage: 200 }] },
      'The stored data of the flag "key-000000" is invalid.',
    ],
    [
      "a flag has a value of another type",
      { featureFlag: [{ ...flagRow(0), defaultValue: "1" }] },
      'The stored data of the flag "key-000000" is invalid.',
    ],
    [
      "a rule is not JSON",
      { featureFlagRule: [{ ...ruleRow(0), value: "tru" }] },
      "The stored data of the rule rule-000000 is invalid.",
    ],
    [
      "a segment is not JSON",
      { featureFlagSegment: [{ ...segmentRow(0, {}), conditions: "{" }] },
      'The stored data of the segment "key-000000" is invalid.',
    ],
    [
      "an override is not JSON",
      { featureFlagOverride: [{ ...overrideRow(0), value: "tru" }] },
      "The stored data of the override override-000000 is invalid.",
    ],
    [
      "the expiry of an override is not a time",
      { featureFlagOverride: [{ ...overrideRow(0), expiresAt: "soon" }] },
      "The override override-000000 has an expiry that is not a valid time.",
    ],
    [
      "an override has a value of another type",
      { featureFlag: [flagRow(0)], featureFlagOverride: [{ ...overrideRow(0), value: "1" }] },
      'The override override-000000 has a value or a variant that does not fit the flag "key-000000".',
    ],
    [
      "an override has a variant that its flag does not have",
      { featureFlag: [VARIED], featureFlagOverride: [{ ...overrideRow(0), variant: "c" }] },
      'The override override-000000 has a value or a variant that does not fit the flag "key-000000".',
    ],
  ])("is refused if %s", async (_what, tables, message) => {
    await expect(load(tables)).rejects.toThrow(new BadSnapshot(message));
  });

  test("has overrides with each variant of their flag", async () => {
    const snapshot = await load({
      featureFlag: [VARIED],
      featureFlagOverride: ["a", "b"].map((variant, index) => ({ ...overrideRow(index), variant })),
    });
    expect(snapshot.override(id("flag", 0), id("user", 1), 0)).toMatchObject({ variant: "b" });
  });

  test("has all rows of tables that are read in parts", async () => {
    const numbers = Array.from({ length: 2_001 }, (_, number) => number);
    const featureFlagRule = numbers.map((number) => ruleRow(number, number));
    const [featureFlag, featureFlagOverride] = [numbers.map(flagRow), numbers.map(overrideRow)];
    const rows = { featureFlag, featureFlagRule, featureFlagOverride };
    const { flags, rules, overrides } = (await load(rows)).contents;
    const sizes = [flags, rules, overrides.get(id("flag", 0))].map((read) => read?.size);
    expect(sizes).toEqual([2_001, 2_001, 2_001]);
  });

  test("has nothing of another tenant", async () => {
    const rows = {
      featureFlag: [flagRow(0)],
      featureFlagRule: [ruleRow(0)],
      featureFlagOverride: [overrideRow(0)],
      featureFlagSegment: [segmentRow(0, NOBODY)],
    };
    const others = Object.entries(rows).map(([model, [row]]) => [model, [{ ...row, tenant: "other" }]]);
    const { contents } = await load(Object.fromEntries(others));
    expect(Object.values(contents).map(({ size }) => size)).toEqual([0, 0, 0, 0]);
  });

  test("does not depend on an override whose flag is missing", async () => {
    const snapshot = await load({ featureFlagOverride: [{ ...overrideRow(0), value: "1" }] });
    expect(snapshot.flags.size).toBe(0);
  });
});

describe("a snapshot of a later revision", () => {
  const ROWS = {
    featureFlag: [flagRow(0), flagRow(1), flagRow(2)],
    featureFlagRule: [
      ruleRow(0),
      { ...ruleRow(1, 1), conditions: JSON.stringify(IN_SEGMENT) },
      ruleRow(2, 2),
    ],
    featureFlagOverride: [overrideRow(0)],
    featureFlagSegment: [segmentRow(0, NOBODY)],
  };
  const first = () => loadSnapshot(instantDatabase(ROWS), "", endOf(1));

  /** Loads the revision after these changes, and tells which tables were read and which flags were compiled. */
  async function follow(...changes: readonly ReturnType<typeof change>[]) {
    const adapter = instantDatabase({ ...ROWS, featureFlagAudit: changes }, [endOf(1 + changes.length)]);
    const before = await first();
    const snapshot = await loadSnapshot(adapter, "", endOf(1 + changes.length), before);
    const isCompiled = (index: number) =>
      snapshot.compiled.get(id("flag", index)) !== before.compiled.get(id("flag", index));
    return { snapshot, reads: new Set(adapter.reads), compiled: [0, 1, 2].filter(isCompiled) };
  }

  const LOG = new Set(["featureFlagAudit"]);
  const audited = toRule(ruleRow(0));

  test("reads the log only, and compiles only the flags that changed", async () => {
    const renamed = change(2, "flag.updated", id("flag", 2), toFlag({ ...flagRow(2), key: "renamed" }));
    const { snapshot, ...rest } = await follow(renamed);
    expect(rest).toEqual({ reads: LOG, compiled: [2] });
    expect([snapshot.revision, snapshot.auditHash]).toEqual([2, "h2"]);
    expect([...snapshot.flags.keys()]).toEqual([id("key", 0), id("key", 1), "renamed"]);
  });

  test("compiles a flag whose rules changed", async () => {
    const updated = change(2, "rule.updated", id("rule", 0), { ...audited, value: false });
    const { snapshot, ...rest } = await follow(updated);
    expect(rest).toEqual({ reads: LOG, compiled: [0] });
    expect(valuesOf(snapshot)[0]).toEqual([id("key", 0), false]);
  });

  test("compiles the flags that use segments if one changed", async () => {
    const everyone = toSegment(segmentRow(0, { conditions: [] }));
    const { snapshot, ...rest } = await follow(change(2, "segment.updated", id("segment", 0), everyone));
    expect(rest).toEqual({ reads: LOG, compiled: [1] });
    expect(valuesOf(snapshot)[1]).toEqual([id("key", 1), true]);
  });

  test("compiles no flag for an override", async () => {
    const override = { ...toOverride(overrideRow(1)), id: "o" };
    const { snapshot, ...rest } = await follow(
      change(2, "override.created", "o", override),
      change(3, "override.deleted", id("override", 0)),
      change(4, "override.created", "p", { ...override, id: "p", userId: "gone" }),
      change(5, "override.deleted", "p"),
    );
    expect(rest).toEqual({ reads: LOG, compiled: [] });
    expect(snapshot.override(id("flag", 0), id("user", 1), 0)).toMatchObject({ id: "o" });
    const gone = [id("user", 0), "gone"].map((userId) => snapshot.override(id("flag", 0), userId, 0));
    expect(gone).toEqual([undefined, undefined]);
  });

  test.each<[string, ReturnType<typeof change>[]]>([
    ["has a gap", [change(3, "segment.deleted", "none")]],
    ["is of another history", [{ ...change(2, "segment.deleted", "none"), prevHash: "other" }]],
    ["ends with another history", [{ ...change(2, "segment.deleted", "none"), hash: "other" }]],
    ["is shorter than the revision", []],
    ["has an entry that is not valid", [change(2, "flag.updated", id("flag", 0), { type: "none" })]],
    [
      "has an override that does not fit its flag",
      [change(2, "override.created", "o", { ...toOverride(overrideRow(1)), value: 1 })],
    ],
    [
      "has a flag that its overrides do not fit",
      [change(2, "flag.updated", id("flag", 0), toFlag({ ...flagRow(0), type: "number" }))],
    ],
  ])("is read from all rows if the log %s", async (_what, featureFlagAudit) => {
    const adapter = instantDatabase({ ...ROWS, featureFlagAudit }, [endOf(2)]);
    const snapshot = await loadSnapshot(adapter, "", endOf(2), await first());
    expect(snapshot.auditHash).toBe("h2");
    expect(adapter.reads).toContain("featureFlag");
    expect([...snapshot.contents.overrides]).toEqual([...(await first()).contents.overrides]);
  });

  test("is read from the log up to 500 changes, and from all rows beyond", async () => {
    const changes = Array.from({ length: 501 }, (_, at) => change(2 + at, "segment.deleted", "none"));
    expect((await follow(...changes.slice(0, 500))).reads).toEqual(LOG);
    expect((await follow(...changes)).reads).not.toContain("featureFlagAudit");
  });

  test("is not read from all rows if the log cannot be read", async () => {
    const adapter = instantDatabase(ROWS);
    let reads = 0;
    adapter.findMany = () => Promise.reject(new Error(`down ${++reads}`));
    await expect(loadSnapshot(adapter, "", endOf(2), await first())).rejects.toThrow("down 1");
  });
});
