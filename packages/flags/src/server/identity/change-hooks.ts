/** Database hooks that remove a session or user from the principal cache when this process changes it. */
import type { BetterAuthOptions } from "@better-auth/core";
import { findIdentities } from "./identities.ts";
import type { HostContext } from "./request.ts";

export type ChangeHooks = Pick<NonNullable<BetterAuthOptions["databaseHooks"]>, "session" | "user">;

export function changeHooks(context: HostContext): ChangeHooks {
  const removeSession = async (row: unknown) => {
    const token = textOf(row, "token");
    if (token !== undefined) findIdentities(context)?.principals.removeSession(token);
  };
  const removeUser = async (row: unknown) => {
    const id = textOf(row, "id");
    if (id !== undefined) findIdentities(context)?.principals.removeUser(id);
  };
  return {
    session: { update: { after: removeSession }, delete: { after: removeSession } },
    user: { update: { after: removeUser }, delete: { after: removeUser } },
  };
}

/** A change of many rows passes their number instead of a row. */
function textOf(row: unknown, field: string): string | undefined {
  if (typeof row !== "object" || row === null) return undefined;
  const value: unknown = Object.entries(row).find(([name]) => name === field)?.[1];
  return typeof value === "string" ? value : undefined;
}
