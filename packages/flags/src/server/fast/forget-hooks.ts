/** Forgets callers whose session or user is changed through this process, at once. */
import type { BetterAuthOptions } from "@better-auth/core";
import type { Call } from "../call.ts";
import { principalsSoFar } from "./host-principals.ts";

export type ForgetHooks = Pick<NonNullable<BetterAuthOptions["databaseHooks"]>, "session" | "user">;

export function forgetHooks(context: Call["context"]): ForgetHooks {
  const session = async (row: unknown) => {
    const token = textOf(row, "token");
    if (token !== undefined) principalsSoFar(context)?.forgetSession(token);
  };
  const user = async (row: unknown) => {
    const id = textOf(row, "id");
    if (id !== undefined) principalsSoFar(context)?.forgetUser(id);
  };
  return {
    session: { update: { after: session }, delete: { after: session } },
    user: { update: { after: user }, delete: { after: user } },
  };
}

/** A change of many gives their number instead of rows. */
function textOf(row: unknown, field: string): string | undefined {
  if (typeof row !== "object" || row === null) return undefined;
  const value: unknown = Object.entries(row).find(([name]) => name === field)?.[1];
  return typeof value === "string" ? value : undefined;
}
