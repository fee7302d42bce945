/** The rows of users, sessions and organizations, from the database or where the host keeps its sessions. */
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { isOtherForm, mayExist, type WatchedFields, watchFields } from "@halyard/sessions/plugin";
import type { JsonObject } from "../../engine/json.ts";
import type { TrustedRow } from "../../model/trusted.ts";
import type { HostContext } from "../http/host-request.ts";
import type { TrustedModel } from "./check-options.ts";
import { pickFields } from "./row-values.ts";

type Row = Readonly<Record<string, unknown>>;

/** Users and organizations are found by id, sessions by token. */
export interface HostRows {
  /** Values that are at most 5 s old. */
  watch(
    model: TrustedModel,
    names: readonly string[],
    report: (error: unknown) => void,
  ): WatchedFields<JsonObject>;
  find(model: TrustedModel, id: string | undefined): Promise<TrustedRow | undefined>;
}

export function createHostRows(context: HostContext, isIsolated: boolean): HostRows {
  // The type of a context does not say what its adapter can do for any model.
  const adapter: Pick<DBAdapter, "findOne"> = context.adapter;
  const hasSessionTable = context.options.secondaryStorage === undefined;

  async function findSession(token: string): Promise<Row | undefined> {
    const found = await context.internalAdapter.findSession(token);
    return found?.session;
  }

  return {
    watch: (model, names, report) =>
      watchFields(context, model, { names, pick: (row) => pickFields(row, names), report, isIsolated }),
    async find(model, id) {
      if (id === undefined || !mayExist(context, model, id)) return undefined;
      const where = [{ field: model === "session" ? "token" : "id", value: id }];
      const row =
        model === "session" && !hasSessionTable
          ? await findSession(id)
          : await adapter.findOne<Row>({ model, where }).catch(noRow);
      // Where ids are serial numbers, the adapter returns them as strings too.
      return row ? { ...row, id: String(row["id"]) } : undefined;
    },
  };
}

function noRow(error: unknown): null {
  if (isOtherForm(error)) return null;
  throw error;
}
