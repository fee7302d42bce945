import type { DBAdapter } from "@better-auth/core/db/adapter";
import { describe, expect, test } from "vitest";
import type { FeatureFlag } from "../../model/flag.ts";
import { ContentsBuilder } from "../snapshot/contents.ts";
import type { Contents } from "../snapshot/entities.ts";
import {
  MAX_TENANT_BYTES,
  MAX_TENANT_COST,
  MAX_TENANT_FLAGS,
  readContents,
  requireRoom,
} from "./tenant-limits.ts";

const AT = new Date("2026-01-01T00:00:00Z");

const flagOf = (id: string, fields: Partial<FeatureFlag> = {}): FeatureFlag => ({
  id,
  key: id,
  name: id,
  type: "json",
  enabled: true,
  visibility: "public",
  algo: 1,
  version: 1,
  createdAt: AT,
  updatedAt: AT,
  ...fields,
});

function contentsOf(flags: readonly FeatureFlag[]): ContentsBuilder {
  const builder = new ContentsBuilder();
  for (const flag of flags) builder.apply(changeOf("flag.created", flag));
  return builder;
}

const changeOf = (action: "flag.created" | "flag.updated", flag: FeatureFlag) => ({
  revision: 1,
  action,
  flagId: flag.id,
  entityId: flag.id,
  after: JSON.stringify(flag),
});

const ruleOf = (flagId: string, id: string, conditions: object) => ({
  revision: 1,
  action: "rule.created" as const,
  flagId,
  entityId: id,
  after: JSON.stringify({
    id,
    flagId,
    priority: 1,
    conditions,
    value: 1,
    enabled: true,
    salt: id,
    position: 1,
    version: 1,
    createdAt: AT,
  }),
});

function changed(contents: Contents, change: Parameters<ContentsBuilder["apply"]>[0]): ContentsBuilder {
  const builder = new ContentsBuilder(contents);
  builder.apply(change);
  return builder;
}

const refusal = (contents: Contents, change: Parameters<ContentsBuilder["apply"]>[0]) =>
  requireRoom(contents, changed(contents, change)).then(
    () => undefined,
    (error: { status: number; code: string; details: { limit: number } }) => error,
  );

describe("a tenant", () => {
  test("has at most 10,000 flags, and may change them when it has as many or more", async () => {
    const flags = Array.from({ length: MAX_TENANT_FLAGS }, (_, at) => flagOf(`f${at}`));
    const full = contentsOf(flags);
    const refused = await refusal(full, changeOf("flag.created", flagOf("one-more")));
    expect(refused).toMatchObject({ status: 400, code: "VALIDATION_ERROR", details: { limit: 10_000 } });
    expect(await refusal(full, changeOf("flag.updated", flagOf("f1", { enabled: false })))).toBeUndefined();
    expect(await refusal(contentsOf(flags.slice(1)), changeOf("flag.created", flagOf("f0")))).toBeUndefined();
    const over = contentsOf([...flags, flagOf("imported")]);
    expect(await refusal(over, changeOf("flag.updated", flagOf("f1", { enabled: false })))).toBeUndefined();
  });

  test("has at most 16 MiB of flags, and may shrink when it has more", async () => {
    const flags = Array.from({ length: 280 }, (_, at) =>
      flagOf(`f${at}`, { defaultValue: "x".repeat(60_000) }),
    );
    const over = contentsOf(flags);
    const limit = { details: { limit: MAX_TENANT_BYTES } };
    expect(await refusal(over, changeOf("flag.created", flagOf("small")))).toMatchObject(limit);
    const grown = flagOf("f0", { defaultValue: "x".repeat(60_001) });
    expect(await refusal(over, changeOf("flag.updated", grown))).toMatchObject(limit);
    const shrunk = flagOf("f0", { defaultValue: "x" });
    expect(await refusal(over, changeOf("flag.updated", shrunk))).toBeUndefined();
    expect(
      await refusal(contentsOf(flags.slice(10)), changeOf("flag.created", flagOf("small"))),
    ).toBeUndefined();
  });

  test("has conditions of a limited cost, those of segments counted for each flag that uses them", async () => {
    const patterns = { conditions: [{ attribute: "a", operator: "regex", value: "x{1,200}" }] };
    const builder = contentsOf(Array.from({ length: 20 }, (_, at) => flagOf(`f${at}`)));
    builder.apply({
      revision: 1,
      action: "segment.created",
      flagId: "",
      entityId: "s",
      after: JSON.stringify({
        id: "s",
        key: "s",
        conditions: patterns,
        version: 1,
        createdAt: AT,
        updatedAt: AT,
      }),
    });
    const named = { conditions: [{ segment: "s" }] };
    let accepted = 0;
    for (let at = 0; at < 20; at++) {
      const rule = ruleOf(`f${at}`, `r${at}`, at % 2 === 0 ? named : patterns);
      const refused = await refusal(builder, rule);
      if (refused === undefined) {
        accepted += 1;
        builder.apply(rule);
      } else expect(refused).toMatchObject({ details: { limit: MAX_TENANT_COST } });
    }
    expect(accepted).toBeGreaterThan(3);
    expect(accepted).toBeLessThan(10);
  });
});

describe("the entities that the limits count", () => {
  const down = new Error("the database is down");
  const unreachable = { findMany: () => Promise.reject(down) } as unknown as DBAdapter;
  const end = { revision: 2, auditHash: "b" };

  test("are those in memory if the database has no later change, and are read otherwise", async () => {
    const contents = contentsOf([flagOf("f0")]);
    expect(await readContents(unreachable, "t", end, { ...end, contents })).toBe(contents);
    for (const known of [undefined, { revision: 1, auditHash: "a", contents }]) {
      await expect(readContents(unreachable, "t", end, known)).rejects.toBe(down);
    }
  });

  test("are unknown if a stored one is invalid, so that it can be repaired", async () => {
    const segment = { tenant: "t", key: "s", conditions: "{" };
    const findMany = async ({ model }: { model: string }) =>
      model === "featureFlagSegment" ? [segment] : [];
    const adapter = { findMany } as unknown as DBAdapter;
    expect(await readContents(adapter, "t", end, undefined)).toBeUndefined();
  });

  test("are read whole if the log does not continue what is in memory", async () => {
    const known = { revision: 1, auditHash: "of another history", contents: contentsOf([flagOf("gone")]) };
    const adapter = { findMany: async () => [] } as unknown as DBAdapter;
    expect((await readContents(adapter, "t", end, known))?.flags.size).toBe(0);
  });
});
