/** Reads the rows of users, sessions and organizations, from the database or where the host keeps its sessions. */
import type { DBAdapter, Where } from "@better-auth/core/db/adapter";
import type { JsonObject } from "../../engine/json.ts";
import type { TrustedRow } from "../../model/trusted.ts";
import type { HostContext } from "../http/host-request.ts";
import { hasOrganizations, isPossibleId } from "../identity/organizations.ts";
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
  find(model: TrustedModel, id: string | undefined): Promise<TrustedRow | undefined>;
}

export function createHostRows(context: HostContext): HostRows {
  // The type of a context does not say what its adapter can do for any model.
  const adapter: Pick<DBAdapter, "findOne" | "findMany"> = context.adapter;
  const hasSessionTable = context.options.secondaryStorage === undefined;

  async function findSession(token: string): Promise<Row | undefined> {
    const found = await context.internalAdapter.findSession(token);
    return found?.session;
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
      const where: Where[] = [{ field: key, operator: "in", value: [...ids] }];
      const select = [...new Set([key, ...names])];
      const rows = await adapter.findMany<Row>({ model, where, select, limit: ids.length });
      return new Map(rows.map((row) => [String(row[key]), pickFields(row, names)]));
    },
    async find(model, id) {
      if (id === undefined || !mayExist(model, id)) return undefined;
      const row =
        model === "session" && !hasSessionTable
          ? await findSession(id)
          : await adapter.findOne<Row>({ model, where: [{ field: keyOf(model), value: id }] });
      // Where ids are serial numbers, the adapter returns them as strings too.
      return row ? { ...row, id: String(row["id"]) } : undefined;
    },
  };
}

const NONE: ReadonlyMap<string, JsonObject> = new Map();

function keyOf(model: TrustedModel): string {
  return model === "session" ? "token" : "id";
}
