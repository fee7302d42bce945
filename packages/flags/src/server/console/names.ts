/** The names of users, by id. */
import { isPossibleId } from "@halyard/sessions/plugin";
import type { HostContext } from "../http/host-request.ts";

/** Ids that no user has are left out. */
export async function namesOf(
  context: HostContext,
  ids: ReadonlySet<string>,
): Promise<Readonly<Record<string, string>>> {
  const value = [...ids].filter((id) => isPossibleId(context, id));
  if (value.length === 0) return {};
  const users = await context.adapter.findMany<Readonly<Record<string, unknown>>>({
    model: "user",
    where: [{ field: "id", operator: "in", value }],
    select: ["id", "name"],
    limit: value.length,
  });
  const named = users.flatMap(({ id, name }): [string, string][] =>
    typeof name === "string" && name !== "" ? [[String(id), name]] : [],
  );
  return Object.fromEntries(named);
}
