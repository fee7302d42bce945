/** The most expensive tenants that the limits allow, one for each kind of condition. */
import { randomUUID } from "node:crypto";
import type { Host, Person } from "./host.ts";
import { newKey } from "./memory-host.ts";

export interface WorstKind {
  readonly name: string;
  /** The conditions of a rule. None of them holds, so that every rule is tried. */
  readonly conditions?: readonly object[];
  /** Fields of every flag. */
  readonly fields?: (at: number) => object;
  /** What an attacker sends to make the conditions slow. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

const LONG = "a".repeat(256);
const half = (letter: string) => letter.repeat(7_000);
const times = (count: number, condition: object) => Array.from({ length: count }, () => condition);
const members = (last: number) =>
  Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`m${at}`, at === 59 ? last : at]));

export const WORST_KINDS: readonly WorstKind[] = [
  {
    name: "searches in a text",
    conditions: times(45, { attribute: "attributes.a", operator: "contains", value: `${LONG.slice(1)}b` }),
    attributes: { a: "a".repeat(4_096) },
  },
  {
    name: "searches in a list",
    conditions: times(45, { attribute: "attributes.a", operator: "contains", value: "x" }),
    attributes: { a: Array(1_024).fill("y") },
  },
  {
    name: "searches for an object",
    conditions: times(4, { attribute: "attributes.a", operator: "contains", value: { a: 1, b: 2 } }),
    attributes: { a: Array(1_024).fill({ a: 1, b: 3 }) },
  },
  {
    name: "patterns",
    conditions: times(1, { attribute: "attributes.a", operator: "regex", value: "(?:a?){80}a{80}[bc]" }),
    attributes: { a: LONG },
  },
  {
    name: "dates",
    conditions: times(190, {
      attribute: "attributes.a",
      operator: "greater_than",
      value: "2090-01-01T00:00:00.000+01:00",
    }),
    attributes: { a: "2030-01-01T00:00:00.000+01:00" },
  },
  {
    name: "objects",
    conditions: times(40, { attribute: "attributes.a", operator: "equals", value: members(-1) }),
    attributes: { a: members(-2) },
  },
  {
    name: "lists of objects",
    conditions: times(4, {
      attribute: "attributes.a",
      operator: "in",
      value: Array.from({ length: 400 }, () => ({ a: 1, b: 2 })),
    }),
    attributes: { a: { a: 1, b: 3 } },
  },
  {
    name: "long prefixes",
    conditions: times(4, { attribute: "attributes.a", operator: "starts_with", value: `${half("a")}b` }),
    attributes: { a: `${half("a")}c` },
  },
  {
    name: "deep paths",
    conditions: times(190, {
      attribute: "attributes.a.a.a.a.a.a",
      operator: "equals",
      value: 1,
    }),
    attributes: { a: { a: { a: { a: { a: { a: 2 } } } } } },
  },
  {
    name: "rollouts by two long ids in turn",
    fields: (at) => ({
      rolloutPercentage: 50,
      bucketBy: at % 2 === 0 ? "attributes.a" : "attributes.b",
    }),
    attributes: { a: half("a"), b: half("b") },
  },
];

export interface WorstTenant {
  readonly owner: Person;
  readonly flagIds: readonly string[];
}

/**
 * Creates an organization with `count` flags: two by the service, the others as copies of their rows, because ten
 * thousand writes take minutes. Only a host that starts afterwards knows the copies.
 */
export async function createWorstFlags(
  host: Host,
  { fields = () => ({}) }: WorstKind,
  count: number,
): Promise<WorstTenant> {
  const owner = await host.person(newKey("owner"));
  const organizationId = await host.organization(owner, newKey("org"));
  const body = { name: "N", type: "boolean" as const, enabled: true, defaultValue: false, organizationId };
  const flagIds: string[] = [];
  const rows: Record<string, unknown>[] = [];
  for (let at = 0; at < count; at++) {
    const row = rows[at % 2];
    if (row === undefined) {
      const { id } = await host.auth.api.createFeatureFlag({
        body: { ...body, key: newKey("worst"), ...fields(at) },
      });
      const where = [{ field: "flagId", value: id }];
      const created = await host.adapter.findOne<Record<string, unknown>>({ model: "featureFlag", where });
      if (created === null) throw new Error("The new flag has no row.");
      rows.push(created);
      flagIds.push(id);
    } else {
      const { id: _id, ...copied } = row;
      const flagId = randomUUID();
      await host.adapter.create({ model: "featureFlag", data: { ...copied, flagId, key: newKey("worst") } });
      flagIds.push(flagId);
    }
  }
  return { owner, flagIds };
}

/** Creates rules until the limit of the tenant refuses the next one. Returns their number. */
export async function fillRules(
  host: Host,
  { owner, flagIds }: WorstTenant,
  { conditions }: WorstKind,
): Promise<number> {
  let rules = 0;
  if (conditions === undefined) return rules;
  for (const flagId of flagIds) {
    for (let refusal: Refusal; ; rules++) {
      refusal = await tryRule(host, owner, flagId, conditions);
      if (refusal === "tenant") return rules;
      if (refusal === "flag") break;
    }
  }
  throw new Error(`${rules} rules on ${flagIds.length} flags did not reach the limit of the tenant.`);
}

type Refusal = "flag" | "tenant" | undefined;

async function tryRule(
  host: Host,
  owner: Person,
  flagId: string,
  conditions: readonly object[],
): Promise<Refusal> {
  const { status, json, text } = await host.call("POST", `/feature-flags/admin/flags/${flagId}/rules`, {
    as: owner,
    body: { priority: 1, conditions: { operator: "OR", conditions }, value: true },
  });
  if (status === 201) return undefined;
  if (status !== 400) throw new Error(`A rule was refused with ${status} ${text}.`);
  return json.details?.field === "conditions" || json.details?.field === "rules" ? "flag" : "tenant";
}
