import { describe, expect, test } from "vitest";
import { ContentsBuilder } from "./contents.ts";
import type { Contents } from "./entities.ts";
import { BadSnapshot } from "./errors.ts";

const createdAt = "2026-01-01T00:00:00.000Z";
const FLAG = {
  ...{ id: "f", key: "k", name: "one", type: "number", enabled: true, visibility: "public", algo: 1 },
  ...{ version: 1, createdAt, updatedAt: createdAt },
};
const RULE = {
  ...{ id: "r", flagId: "f", priority: 1, conditions: { conditions: [] }, value: 1, enabled: true },
  ...{ salt: "s", position: 1, version: 1, createdAt },
};
const OVERRIDE = { id: "o", flagId: "f", userId: "u", value: 1, enabled: true, createdAt };
const SEGMENT = {
  ...{ id: "s", key: "beta", conditions: { conditions: [] }, version: 1 },
  ...{ createdAt, updatedAt: createdAt },
};

type Change = Parameters<ContentsBuilder["apply"]>[0];

/** An entry of the audit log. Everything belongs to the flag "f". */
const entry = (action: Change["action"], entityId: string, after?: object, revision = 1): Change => ({
  ...{ revision, action, flagId: "f", entityId },
  after: after === undefined ? null : JSON.stringify(after),
});

const ALL = [
  entry("flag.created", "f", FLAG),
  entry("rule.created", "r", RULE),
  entry("override.created", "o", OVERRIDE),
  entry("segment.created", "s", SEGMENT),
];

function follow(base: Contents | undefined, ...changes: readonly Change[]): ContentsBuilder {
  const builder = new ContentsBuilder(base);
  for (const change of changes) builder.apply(change);
  builder.finish();
  return builder;
}

/** The entities with what tells them apart. */
const view = ({ flags, rules, overrides, segments }: Contents) => [
  ...Array.from(flags, ([id, { name }]) => `flag ${id}: ${name}`),
  ...[...rules].flatMap(([flagId, ofFlag]) =>
    Array.from(ofFlag, ([id, { value }]) => `rule ${flagId}/${id}: ${value}`),
  ),
  ...[...overrides].flatMap(([flagId, ofFlag]) =>
    Array.from(ofFlag, ([userId, { id }]) => `override ${flagId}/${userId}: ${id}`),
  ),
  ...Array.from(segments, ([id, { key }]) => `segment ${id}: ${key}`),
];

const FULL = ["flag f: one", "rule f/r: 1", "override f/u: o", "segment s: beta"];

describe("the contents of a snapshot", () => {
  test("are empty before the first change", () => {
    expect(view(follow(undefined))).toEqual([]);
  });

  test.each<[string, Change, string[]]>([
    ["a new flag", entry("flag.created", "g", FLAG), FULL.toSpliced(1, 0, "flag g: one")],
    ["an updated flag", entry("flag.updated", "f", { ...FLAG, name: "two" }), FULL.with(0, "flag f: two")],
    ["a deleted flag", entry("flag.deleted", "f"), ["segment s: beta"]],
    [
      "a new rule",
      entry("rule.created", "q", { ...RULE, id: "q", value: 2 }),
      FULL.toSpliced(2, 0, "rule f/q: 2"),
    ],
    ["an updated rule", entry("rule.updated", "r", { ...RULE, value: 2 }), FULL.with(1, "rule f/r: 2")],
    ["a deleted rule", entry("rule.deleted", "r"), FULL.toSpliced(1, 1)],
    [
      "a new override",
      entry("override.created", "p", { ...OVERRIDE, id: "p", userId: "v" }),
      FULL.toSpliced(3, 0, "override f/v: p"),
    ],
    ["a deleted override", entry("override.deleted", "o"), FULL.toSpliced(2, 1)],
    ["a new segment", entry("segment.created", "t", { ...SEGMENT, id: "t" }), [...FULL, "segment t: beta"]],
    [
      "an updated segment",
      entry("segment.updated", "s", { ...SEGMENT, key: "staff" }),
      FULL.with(3, "segment s: staff"),
    ],
    ["a deleted segment", entry("segment.deleted", "s"), FULL.slice(0, 3)],
  ])("change with %s, and those of the revision before do not", (_what, change, expected) => {
    const before = follow(undefined, ...ALL);
    expect(view(follow(before, change))).toEqual(expected);
    expect(view(before)).toEqual(FULL);
  });

  test("have the result of many changes at once", () => {
    const after = follow(
      follow(undefined, ...ALL),
      entry("override.deleted", "o"),
      entry("override.created", "p", { ...OVERRIDE, id: "p" }),
      entry("override.created", "q", { ...OVERRIDE, id: "q", userId: "v" }),
      entry("override.created", "x", { ...OVERRIDE, id: "x", userId: "w" }),
      entry("override.deleted", "q"),
      entry("override.deleted", "x"),
      entry("rule.created", "q", { ...RULE, id: "q" }),
      entry("rule.deleted", "r"),
    );
    expect(view(after)).toEqual(["flag f: one", "rule f/q: 1", "override f/u: p", "segment s: beta"]);
  });

  test("share with the revision before what no change concerns", () => {
    const before = follow(undefined, ...ALL);
    const after = follow(
      before,
      entry("rule.deleted", "none"),
      entry("override.deleted", "none"),
      entry("flag.updated", "f", FLAG),
    );
    expect(after.rules.get("f")).toBe(before.rules.get("f"));
    expect(after.overrides.get("f")).toBe(before.overrides.get("f"));
    expect(after.segments).toBe(before.segments);
  });

  test("do not depend on whether a deletion was read from the rows already", () => {
    const deletions = (["flag", "rule", "override", "segment"] as const).map((entity) =>
      entry(`${entity}.deleted`, "none"),
    );
    expect(view(follow(undefined, ...deletions))).toEqual([]);
  });

  test("ignore an action of a newer version", () => {
    const unknown = { ...entry("flag.created", "f"), action: "view.created" } as unknown as Change;
    expect(view(follow(follow(undefined, ...ALL), unknown))).toEqual(FULL);
  });

  test.each(["salt", "position"] as const)("are refused if the entry of a rule lacks its %s", (field) => {
    const { [field]: _, ...damaged } = RULE;
    for (const action of ["rule.created", "rule.updated"] as const) {
      expect(() => follow(follow(undefined, ...ALL), entry(action, "r", damaged, 9))).toThrow(
        new BadSnapshot("The stored data of revision 9 is invalid."),
      );
    }
  });

  test("have no override that is turned off, and the variant and the expiry of the others", () => {
    const { overrides } = follow(
      undefined,
      entry("override.created", "o", { ...OVERRIDE, enabled: false }),
      entry("override.created", "p", { ...OVERRIDE, id: "p", userId: "v", variant: "b" }),
      entry("override.created", "q", { ...OVERRIDE, id: "q", userId: "w", expiresAt: createdAt }),
    );
    expect([...(overrides.get("f") ?? [])]).toStrictEqual([
      ["v", { id: "p", value: 1, variant: "b", expiresAtMs: Number.POSITIVE_INFINITY }],
      ["w", { id: "q", value: 1, expiresAtMs: Date.parse(createdAt) }],
    ]);
  });

  test("are refused if a priority is not a number", () => {
    const rule = entry("rule.created", "r", { ...RULE, priority: "high" });
    expect(() => follow(undefined, rule)).toThrow(
      new BadSnapshot("The rule r has a priority that is not a number."),
    );
  });
});
