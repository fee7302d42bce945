/** Starts hosts with trusted attributes, and sets the values of rows as an application does. */
import type { FeatureFlagsOptions, RuleConditions, TrustedOptions } from "@halyard/flags";
import { afterAll, beforeAll } from "vitest";
import { freshPostgres, freshSqlite } from "./databases.ts";
import { type Host, type HostOptions, type Person, startHost } from "./host.ts";
import { newKey } from "./memory-host.ts";

/** A field that no user can write. */
export const FIELD = { type: "string", required: false, input: false } as const;

/** The fields that `TRUSTED` names. */
export const FIELDS: Pick<HostOptions, "fields" | "organization"> = {
  fields: {
    user: { plan: FIELD, nickname: { type: "string", required: false } },
    session: { channel: FIELD },
  },
  organization: { schema: { organization: { additionalFields: { tier: FIELD } } } },
};
export const TRUSTED: TrustedOptions = { user: ["plan"], session: ["channel"], organization: ["tier"] };

export const DATABASES = [
  ["SQLite", freshSqlite],
  ["PostgreSQL", freshPostgres],
] as const;

/** Starts a host for all tests of a suite on a database of its own. */
export function trustedSuite(
  open: (typeof DATABASES)[number][1],
  flags: FeatureFlagsOptions,
  use: (host: Host) => Promise<void> | void,
): void {
  const cleanUp: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    const { connect, drop } = await open();
    cleanUp.push(drop);
    const { database, close } = connect();
    cleanUp.push(close);
    const host = await startHost({ ...FIELDS, database, flags });
    cleanUp.push(host.close);
    await use(host);
  });
  afterAll(async () => {
    for (const step of cleanUp.reverse()) await step();
  });
}

/** Sets fields of a row through Better Auth's adapter. */
export async function setFields(
  { adapter }: Pick<Host, "adapter">,
  model: "user" | "session" | "organization",
  id: string,
  update: Record<string, unknown>,
): Promise<void> {
  await adapter.update({ model, where: [{ field: "id", value: id }], update });
}

/** The id of the person's session. */
export async function sessionOf({ call }: Host, person: Person): Promise<string> {
  return (await call("GET", "/get-session", { as: person })).json.session.id;
}

export const when = (attribute: string, operator: string, value: unknown): RuleConditions =>
  ({ conditions: [{ attribute, operator, value }] }) as RuleConditions;

/** A flag that is "yes" where the conditions hold and "no" elsewhere. */
export async function ruled({ auth }: Pick<Host, "auth">, conditions: RuleConditions) {
  const flag = await auth.api.createFeatureFlag({
    body: { key: newKey("trusted"), name: "N", type: "string", enabled: true, defaultValue: "no" },
  });
  await auth.api.createFeatureFlagRule({ body: { flagId: flag.id, priority: 1, conditions, value: "yes" } });
  return flag;
}
