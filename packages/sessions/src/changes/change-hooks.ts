/** The database hook for sessions that are stored outside the database, where `watched-writes.ts` sees no update. */
import type { BetterAuthOptions } from "@better-auth/core";
import type { HostContext } from "../identify/request.ts";
import { applyChange } from "./change-feed.ts";

/** Database hooks of Better Auth for sessions. */
export type ChangeHooks = Pick<NonNullable<BetterAuthOptions["databaseHooks"]>, "session">;

/** For the option `databaseHooks` that a plugin's `init` returns. */
export function changeHooks(context: HostContext): ChangeHooks {
  return {
    session: {
      update: {
        async after(row: unknown) {
          if (typeof row !== "object" || row === null || !("token" in row)) return;
          applyChange(context, { kind: "session", id: String(row.token) });
        },
      },
    },
  };
}
