/** Reads the rows of users, sessions and organizations, from the database or where the host keeps its sessions. */

import type { DBAdapter, Where } from "@better-auth/core/db/adapter";
import { hasOrganizations, isPossibleId } from "@halyard/sessions/plugin";
import type { JsonObject } from "../../engine/json.ts";
import type { TrustedRow } from "../../model/trusted.ts";
import type { HostTables } from "../../store/postgres/host-tables.ts";
import { createRowVersions, type RowVersions } from "../../store/postgres/row-versions.ts";
import type { HostContext } from "../http/host-request.ts";
import type { TrustedModel } from "./check-options.ts";
import { pickFields } from "./row-values.ts";

type Row = Readonly<Record<string, unknown>>;

/** Users and organizations are found by id, sessions by token. */
export interface HostRows {
  /** The fields of the rows that exist, by id. */
  readFields(
    model: TrustedModel,
    ids: readonly string[],
    names: readonly string[],
  ): Promise<ReadonlyMap<string, JsonObject>>;
  /** Undefined where rows have no versions that can be read. */
  versionsOf(model: TrustedModel): RowVersions | undefined;
  find(model: TrustedModel, id: string | undefined): Promise<TrustedRow | undefined>;
}

export function createHostRows(context: HostContext, tables?: HostTables): HostRows {
  // The type of a context does not say what its adapter can do for any model.
  const adapter: Pick<DBAdapter, "findOne" | "findMany"> = context.adapter;
  const hasSessionTable = context.options.secondaryStorage === undefined;

  async function findSession(token: string): Promise<Row | undefined> {
    const found = await context.internalAdapter.findSession(token);
    return found?.session;
  }

  /** An id of another form than the column's fails the whole query, so the others are read without it. */
  async function findRows(
    model: TrustedModel,
    ids: readonly string[],
    select: string[],
  ): Promise<readonly Row[]> {
    const where: Where[] = [{ field: keyOf(model), operator: "in", value: [...ids] }];
    try {
      return await adapter.findMany<Row>({ model, where, select, limit: ids.length });
    } catch (error) {
      if (!isOtherForm(error)) throw error;
      if (ids.length === 1) return [];
      const half = Math.ceil(ids.length / 2);
      const first = await findRows(model, ids.slice(0, half), select);
      return [...first, ...(await findRows(model, ids.slice(half), select))];
    }
  }

  /** False for an id that no row can have, which some databases refuse. */
  function mayExist(model: TrustedModel, id: string): boolean {
    if (model === "session") return true;
    return isPossibleId(context, id) && (model === "user" || hasOrganizations(context));
  }

  return {
    async readFields(model, given, names) {
      const ids = given.filter((id) => mayExist(model, id));
      if (ids.length === 0) return NONE;
      if (model === "session" && !hasSessionTable) {
        const sessions = await Promise.all(
          ids.map(async (token) => [token, await findSession(token)] as const),
        );
        return new Map(
          sessions.flatMap(([token, row]) => (row === undefined ? [] : [[token, pickFields(row, names)]])),
        );
      }
      const key = keyOf(model);
      const rows = await findRows(model, ids, [...new Set([key, ...names])]);
      return new Map(rows.map((row) => [String(row[key]), pickFields(row, names)]));
    },
    versionsOf(model) {
      const isInDatabase = model !== "session" || hasSessionTable;
      return tables && isInDatabase ? createRowVersions(tables, model, keyOf(model)) : undefined;
    },
    async find(model, id) {
      if (id === undefined || !mayExist(model, id)) return undefined;
      const row =
        model === "session" && !hasSessionTable
          ? await findSession(id)
          : await adapter.findOne<Row>({ model, where: [{ field: keyOf(model), value: id }] }).catch(noRow);
      // Where ids are serial numbers, the adapter returns them as strings too.
      return row ? { ...row, id: String(row["id"]) } : undefined;
    },
  };
}

const NONE: ReadonlyMap<string, JsonObject> = new Map();

/** A driver, a query builder and the adapter may each wrap the error. */
const MAX_CAUSES = 5;

/** Whether PostgreSQL refuses a value: not a UUID, or a number that is too large. No row has such an id. */
function isOtherForm(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < MAX_CAUSES; depth++) {
    if ("code" in cause && /^22...$/.test(String(cause.code))) return true;
    cause = cause.cause;
  }
  return false;
}

function noRow(error: unknown): null {
  if (isOtherForm(error)) return null;
  throw error;
}

function keyOf(model: TrustedModel): string {
  return model === "session" ? "token" : "id";
}
