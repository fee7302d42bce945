import { describe, expect, test } from "vitest";
import type { FeatureFlag } from "../../model/flag.ts";
import { compile } from "../rows/definition.ts";
import { differenceOf, expiredKeys, nextExpiry } from "./difference.ts";
import type { Contents, SnapshotOverride } from "./entities.ts";
import { TenantSnapshot } from "./tenant-snapshot.ts";

const AT = new Date(0);

const flagOf = (id: string, key = id): FeatureFlag => ({
  ...{ id, key, name: id, type: "boolean", enabled: true, visibility: "public", algo: 1, version: 1 },
  ...{ createdAt: AT, updatedAt: AT },
});
const overrideOf = (expiresAtMs = Number.POSITIVE_INFINITY): SnapshotOverride => ({
  ...{ id: "o", value: true, expiresAtMs },
});
const NONE: Contents["overrides"] = new Map();

/** Flags with their compiled flags, as one snapshot passes them on to the next. */
const flagsOf = (...flags: readonly FeatureFlag[]) =>
  flags.map((flag) => [flag, compile(flag, [], new Map())] as const);

function snapshotOf(flags: ReturnType<typeof flagsOf>, overrides: Contents["overrides"] = NONE) {
  const contents: Contents = {
    flags: new Map(flags.map(([flag]) => [flag.id, flag])),
    rules: new Map(),
    segments: new Map(),
    overrides,
  };
  const compiled = new Map(flags.map(([{ id }, one]) => [id, one]));
  return new TenantSnapshot({ revision: 1, auditHash: "" }, contents, compiled);
}

describe("the difference between two snapshots", () => {
  test("names the flags that were created, deleted or compiled again", () => {
    const kept = flagsOf(flagOf("kept"));
    const before = snapshotOf([...kept, ...flagsOf(flagOf("changed"), flagOf("deleted"))]);
    const after = snapshotOf([...kept, ...flagsOf(flagOf("changed"), flagOf("created"))]);
    expect(differenceOf(before, after).keys.toSorted()).toEqual(["changed", "created", "deleted"]);
    expect(differenceOf(before, after).overrideKeys).toEqual([]);
  });

  test("names a flag whose key another flag has taken", () => {
    const before = snapshotOf(flagsOf(flagOf("one", "key")));
    expect(differenceOf(before, snapshotOf(flagsOf(flagOf("two", "key")))).keys).toEqual(["key"]);
  });

  test("names the other flags of which overrides differ, and tells for which users they do", () => {
    const flags = flagsOf(flagOf("a"), flagOf("b"), flagOf("c"), flagOf("d"));
    const [u, v] = [overrideOf(), overrideOf()];
    const before = snapshotOf(
      flags,
      new Map([
        ["a", new Map([["u", u]])],
        ["b", new Map([["u", u]])],
        ["c", new Map([["u", u]])],
      ]),
    );
    const [, ...others] = flags;
    const after = snapshotOf(
      [...others, ...flagsOf(flagOf("a"))],
      new Map([
        ["a", new Map()],
        [
          "b",
          new Map([
            ["u", u],
            ["v", v],
          ]),
        ],
        ["d", new Map([["u", u]])],
      ]),
    );
    const difference = differenceOf(before, after);
    expect([difference.keys, difference.overrideKeys]).toEqual([["a"], ["b", "c", "d"]]);
    expect(difference.overridden("u")).toEqual(["c", "d"]);
    expect(difference.overridden("v")).toEqual(["b"]);
    expect(difference.overridden("w")).toEqual([]);
    expect(differenceOf(before, snapshotOf(flags, before.contents.overrides)).overrideKeys).toEqual([]);
  });

  test("is made once for each pair of snapshots", () => {
    const [one, two, three] = [snapshotOf([]), snapshotOf([]), snapshotOf([])];
    expect(differenceOf(one, two)).toBe(differenceOf(one, two));
    expect(differenceOf(one, three)).not.toBe(differenceOf(one, two));
    const first = differenceOf(one, two);
    expect(differenceOf(one, three)).toBe(differenceOf(one, three));
    expect(differenceOf(one, two)).toBe(first);
  });
});

describe("the overrides of a user", () => {
  const snapshot = snapshotOf(
    flagsOf(flagOf("a"), flagOf("b"), flagOf("c"), flagOf("d")),
    new Map([
      ["a", new Map([["u", overrideOf(3000)]])],
      [
        "b",
        new Map([
          ["u", overrideOf(2000)],
          ["v", overrideOf(1500)],
        ]),
      ],
      ["c", new Map([["u", overrideOf()]])],
      ["d", new Map([["u", overrideOf(1000)]])],
      ["of a missing flag", new Map([["u", overrideOf(2500)]])],
    ]),
  );

  test("expire next at the earliest time that is not over", () => {
    expect(
      [0, 999, 1000, 1999, 2000, 2999, 3000].map((afterMs) => nextExpiry(snapshot, "u", afterMs)),
    ).toEqual([1000, 1000, 2000, 2000, 2500, 3000, Number.POSITIVE_INFINITY]);
    expect(nextExpiry(snapshot, "nobody", 0)).toBe(Number.POSITIVE_INFINITY);
  });

  test("that expire in a time include those at its end, not those at its start", () => {
    const expired = (afterMs: number, upToMs: number) => expiredKeys(snapshot, "u", { afterMs, upToMs });
    expect(expired(0, 999)).toEqual([]);
    expect(expired(999, 1000)).toEqual(["d"]);
    expect(expired(1000, 1999)).toEqual([]);
    expect(expired(0, 1e9)).toEqual(["a", "b", "d"]);
    expect(expiredKeys(snapshot, "nobody", { afterMs: 0, upToMs: 1e9 })).toEqual([]);
  });
});
