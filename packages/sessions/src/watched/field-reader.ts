/** Reads fields of the rows of one table, many at once, from the database or where the host keeps its sessions. */
import type { DBAdapter, Where } from "@better-auth/core/db/adapter";
import { hasOrganizations, isPossibleId } from "../identify/organizations.ts";
import type { HostContext } from "../identify/request.ts";
import type { Row } from "../identify/session-caller.ts";
import type { WatchedModel } from "./watched-fields.ts";

/** A driver, a query builder and the adapter may each wrap the error. */
const MAX_CAUSES = 5;

/** The field by which rows of a table are found. A session is found by its token. */
export function keyFieldOf(model: WatchedModel): string {
  return model === "session" ? "token" : "id";
}

/** By key. Only the named fields, where the database can choose. */
export function createFieldReader(
  context: HostContext,
  model: WatchedModel,
  names: readonly string[],
): (keys: readonly string[]) => Promise<ReadonlyMap<string, Row>> {
  // The type of a context does not say what its adapter can do for any model.
  const adapter: Pick<DBAdapter, "findMany"> = context.adapter;
  const key = keyFieldOf(model);
  const select = [...new Set([key, ...names])];

  /** A key of another form than the column's fails the whole query, so the others are read without it. */
  async function findRows(keys: readonly string[]): Promise<readonly Row[]> {
    const where: Where[] = [{ field: key, operator: "in", value: [...keys] }];
    try {
      return await adapter.findMany<Row>({ model, where, select, limit: keys.length });
    } catch (error) {
      if (!isOtherForm(error)) throw error;
      if (keys.length === 1) return [];
      const half = Math.ceil(keys.length / 2);
      return [...(await findRows(keys.slice(0, half))), ...(await findRows(keys.slice(half)))];
    }
  }

  if (model === "session" && context.options.secondaryStorage !== undefined)
    return async (tokens) => {
      const found = await Promise.all(tokens.map((token) => context.internalAdapter.findSession(token)));
      return new Map(
        found.flatMap((stored, at): [string, Row][] => (stored ? [[tokens[at] ?? "", stored.session]] : [])),
      );
    };
  return async (given) => {
    const keys = given.filter((one) => mayExist(context, model, one));
    const rows = keys.length === 0 ? [] : await findRows(keys);
    return new Map(rows.map((row) => [String(row[key]), row]));
  };
}

/** False for a key that no row can have, which some databases refuse. */
export function mayExist(context: HostContext, model: WatchedModel, key: string): boolean {
  if (model === "session") return true;
  return isPossibleId(context, key) && (model !== "organization" || hasOrganizations(context));
}

/** Whether PostgreSQL refuses a value: not a UUID, or a number that is too large. No row has such a key. */
export function isOtherForm(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < MAX_CAUSES; depth++) {
    if ("code" in cause && /^22...$/.test(String(cause.code))) return true;
    cause = cause.cause;
  }
  return false;
}
