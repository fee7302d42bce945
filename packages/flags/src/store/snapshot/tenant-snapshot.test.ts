import { describe, expect, test } from "vitest";
import type { FlagRow, OverrideRow, RevisionRow } from "../../model/tables.ts";
import type { Adapter } from "../rows/queries.ts";
import { loadSnapshot } from "./tenant-snapshot.ts";

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

/** A database that answers at once, so that only the loading itself takes time. Rows must be sorted by their id. */
function instantDatabase(tables: Readonly<Record<string, readonly object[]>>): Adapter {
  const end: RevisionRow = { id: "", tenant: "", revision: 1, auditHash: "h", auditAt: null, seq: null };
  const reads: Pick<Adapter, "findOne" | "findMany"> = {
    findOne: async <Row>() => end as Row,
    async findMany<Row>({ model, where = [], limit }: Parameters<Adapter["findMany"]>[0]) {
      const rows = (tables[model] ?? []) as Record<string, unknown>[];
      const last = where.find(({ operator }) => operator === "gt");
      const start = last === undefined ? 0 : rows.findIndex((row) => row[last.field] === last.value) + 1;
      return rows.slice(start, limit === undefined ? undefined : start + limit) as Row[];
    },
  };
  return reads as Adapter;
}

/** How often anything else got its turn while `work` was done. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  await work;
  clearInterval(timer);
  return turns;
}

describe("loading a snapshot", () => {
  test("of many flags yields to the event loop between slices of the work", async () => {
    const flags = Array.from({ length: 1999 }, (_, index) => flagRow(index));
    const adapter = instantDatabase({ featureFlag: flags });
    const turns = await turnsDuring(loadSnapshot(adapter, "", { revision: 1, auditHash: "h" }));
    expect(turns).toBeGreaterThanOrEqual(3);
  });

  test("of few flags does not yield", async () => {
    const adapter = instantDatabase({ featureFlag: [flagRow(0)], featureFlagOverride: [overrideRow(0)] });
    const end = { revision: 1, auditHash: "h" };
    expect(await turnsDuring(loadSnapshot(adapter, "", end))).toBe(0);
  });
});
