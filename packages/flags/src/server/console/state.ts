/** Who uses the console, and what it may show. */
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { hasOrganizations, IdentityError, type Principal } from "@halyard/sessions/plugin";
import type { FlagAction } from "../../model/action.ts";
import type { ConsoleOrganization, ConsoleState } from "../../model/console.ts";
import { NO_TENANT } from "../../model/flag.ts";
import { featureFlagStatements } from "../access/actions.ts";
import { judge } from "../access/permission.ts";
import type { Call } from "../call.ts";
import { pathsOf } from "../trusted/check-options.ts";
import { VERSION } from "../version.ts";
import type { PublicConsoleOperation } from "./definition.ts";

/** Organizations that the switcher offers. */
const MAX_ORGANIZATIONS = 100;

type Row = Readonly<Record<string, unknown>>;

export const session: PublicConsoleOperation<"session"> = {
  action: "public",
  async run(call) {
    const { service, request } = call;
    const { options } = service;
    const host = request.context.options;
    const multiTenant = options.multiTenant === true;
    const { default: fallback, claimable, list, protected: marked } = options.environments ?? {};
    const caller = await call.identity.administrator().catch(orNobody);
    const known = caller === undefined || caller.kind === "server" ? undefined : caller;
    const home = known && multiTenant ? await call.identity.homeOf(known) : undefined;
    const organizations = known?.kind === "user" && multiTenant ? await organizationsOf(call, known) : [];
    const actions = known === undefined ? [] : await actionsIn(call, known, NO_TENANT);
    // How the application is set up is for users of the console only.
    const isAdmitted = actions.length > 0 || organizations.length > 0;
    return {
      ...(known?.kind === "user" && { user: await userOf(call, known.user) }),
      emailAndPassword: host.emailAndPassword?.enabled === true,
      multiTenant,
      organizations,
      ...(home !== undefined && { activeOrganizationId: home }),
      actions,
      environments: {
        ...(isAdmitted && fallback !== undefined && { default: fallback }),
        ...(isAdmitted && claimable !== undefined && { claimable }),
        ...(isAdmitted && list !== undefined && { list }),
        ...(isAdmitted && marked !== undefined && { protected: marked }),
      },
      trustedPaths: isAdmitted && options.trusted !== undefined ? pathsOf(options.trusted) : [],
      apiKeys: host.plugins?.some(({ id }) => id === "api-key") === true,
      online: service.live.online !== undefined,
      version: VERSION,
    };
  },
};

/** An ended session is like none. A store that does not respond is an error. */
function orNobody(error: unknown): undefined {
  if (!(error instanceof IdentityError) || error.problem !== "not-signed-in") throw error;
}

async function userOf(
  { request }: Call,
  { id, email, impersonatedBy }: Extract<Principal, { kind: "user" }>["user"],
): Promise<NonNullable<ConsoleState["user"]>> {
  const row = await request.context.internalAdapter.findUserById(id);
  return {
    id,
    name: row?.name ?? "",
    email,
    ...(typeof row?.image === "string" && { image: row.image }),
    ...(impersonatedBy && { impersonatedBy }),
  };
}

/** The actions that the caller may do with the tenant's flags. */
export async function actionsIn(call: Call, caller: Principal, tenant: string): Promise<FlagAction[]> {
  const granted: FlagAction[] = [];
  for (const action of featureFlagStatements.featureFlag) {
    if ((await judge(call, caller, action, tenant)) === "granted") granted.push(action);
  }
  return granted;
}

async function organizationsOf(
  call: Call,
  caller: Extract<Principal, { kind: "user" }>,
): Promise<ConsoleOrganization[]> {
  const { context } = call.request;
  if (!hasOrganizations(context)) return [];
  const adapter: Pick<DBAdapter, "findMany"> = context.adapter;
  const members = await adapter.findMany<Row>({
    model: "member",
    where: [{ field: "userId", value: caller.user.id }],
    limit: MAX_ORGANIZATIONS,
  });
  const ids = members.map(({ organizationId }) => String(organizationId));
  if (ids.length === 0) return [];
  const where = [{ field: "id", operator: "in" as const, value: ids }];
  const rows = await adapter.findMany<Row>({ model: "organization", where, limit: ids.length });
  const organizations = await Promise.all(
    rows.map(async ({ id, name, slug, logo }) => ({
      id: String(id),
      name: String(name),
      ...(typeof slug === "string" && { slug }),
      ...(typeof logo === "string" && { logo }),
      actions: await actionsIn(call, caller, String(id)),
    })),
  );
  return organizations.filter(({ actions }) => actions.length > 0).sort((a, b) => (a.name < b.name ? -1 : 1));
}
