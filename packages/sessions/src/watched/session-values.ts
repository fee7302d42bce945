/** Compares cached principals with their rows, for changes that leave `updatedAt` as it was. */
import type { DBAdapter, Where } from "@better-auth/core/db/adapter";
import { within } from "@halyard/base";
import type { CachedPrincipal } from "../identify/cached-principal.ts";
import { COMPARISON_TIMEOUT_MS } from "./session-changes.ts";

/** Gives those of the principals whose rows are gone or hold other values. */
export type FindDifferent = (principals: readonly CachedPrincipal[]) => Promise<CachedPrincipal[]>;

/** The optional columns the host's tables have. */
export interface SessionFields {
  readonly role: boolean;
  readonly activeOrganizationId: boolean;
}

type Row = Readonly<Record<string, unknown>>;

export function createValueComparison(
  adapter: Pick<DBAdapter, "findMany">,
  fields: SessionFields,
): FindDifferent {
  async function readRows(
    model: string,
    key: string,
    columns: readonly string[],
    values: ReadonlySet<string>,
  ): Promise<Map<unknown, Row>> {
    const where: Where[] = [{ field: key, operator: "in", value: [...values] }];
    const reading = adapter.findMany<Row>({ model, where, select: [key, ...columns], limit: values.size });
    const message = `The session store did not respond within ${COMPARISON_TIMEOUT_MS} ms.`;
    const rows = await within(reading, COMPARISON_TIMEOUT_MS, message);
    return new Map(rows.map((row) => [row[key], row]));
  }

  return async (principals) => {
    const tokens = new Set<string>();
    const userIds = new Set<string>();
    for (const { rows } of principals) {
      if (rows === undefined) continue;
      tokens.add(rows.token);
      userIds.add(rows.userId);
    }
    if (tokens.size === 0) return [];
    const sessionColumns = fields.activeOrganizationId ? ["activeOrganizationId"] : [];
    const sessions = await readRows("session", "token", sessionColumns, tokens);
    const users = await readRows("user", "id", fields.role ? ["email", "role"] : ["email"], userIds);
    return principals.filter(({ caller, rows }) => {
      const session = sessions.get(rows?.token);
      const user = users.get(rows?.userId);
      return session === undefined || user === undefined || !hasValues(caller, session, user);
    });
  };
}

function hasValues(caller: CachedPrincipal["caller"], session: Row, user: Row): boolean {
  if (caller.kind !== "user") return false;
  const { email, role, activeOrganizationId } = caller.user;
  return (
    user["email"] === email &&
    (user["role"] ?? undefined) === role &&
    (session["activeOrganizationId"] || undefined) === activeOrganizationId
  );
}
