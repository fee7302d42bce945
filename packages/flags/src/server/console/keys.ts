/** The API keys of all users for flags, which the plugin `@better-auth/api-key` stores. */
import { isPossibleId, permissionsOn, personalPermissions, personalUntil } from "@halyard/sessions/plugin";
import * as z from "zod";
import { isPlainObject } from "../../engine/json.ts";
import type { ConsoleAnswers, ConsoleKey } from "../../model/console.ts";
import { FeatureFlagError } from "../../model/errors.ts";
import { NO_TENANT } from "../../model/flag.ts";
import { invalid, name, parse } from "../../model/inputs.ts";
import { featureFlagStatements } from "../access/actions.ts";
import { admitToTenant } from "../access/admission.ts";
import type { GuardedCall } from "../call.ts";
import { readBody } from "../http/body-limit.ts";
import type { HostContext } from "../http/host-request.ts";
import type { ConsoleOperation } from "./definition.ts";
import { forgetKeyOwners, keyOwnersIn, rememberKeyOwner } from "./key-owners.ts";
import { namesOf } from "./names.ts";
import { actionsIn } from "./state.ts";

const RESOURCE = "featureFlag";
const DAY_MS = 24 * 60 * 60_000;
const MAX_DAYS = 365;
const DEFAULT_DAYS = 90;
const MAX_LISTED = 1000;
const NO_USER = "";

const noInput = z.strictObject({});
const keyInput = z.strictObject({
  name,
  actions: z.array(z.enum(featureFlagStatements.featureFlag)).min(1),
  expiresInDays: z.number().int().min(1).max(MAX_DAYS).default(DEFAULT_DAYS),
});
const idInput = z.strictObject({ id: name });

export const keys: ConsoleOperation<"keys"> = {
  action: "keys",
  async run(call): Promise<ConsoleAnswers["keys"]> {
    // Keys reach beyond one organization, so the permissions on global flags decide.
    await admitToTenant(call, globalOnly(call));
    parse(noInput, readBody(call) ?? {});
    const { rows, only } = await listRows(call);
    const owners = new Set(rows.map(ownerOf));
    const names = await namesOf(call.request.context, owners);
    const listed = rows.map((row) => keyOf(row, names)).sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
    return { keys: listed, ...(only && { only }) };
  },
};

export const createKey: ConsoleOperation<"create-key"> = {
  action: "keys",
  async run(call): Promise<ConsoleAnswers["create-key"]> {
    await admitToTenant(call, globalOnly(call));
    const { name: called, actions, expiresInDays } = parse(keyInput, readBody(call));
    const caller = await call.identity.administrator();
    if (caller.kind !== "user") throw onlyUsers();
    // The user did not ask for the key, and no log would say who has it.
    if (caller.user.impersonatedBy !== undefined) throw whileImpersonating();
    const own = await actionsIn(call, caller, NO_TENANT);
    const missing = actions.filter((action) => !own.includes(action));
    if (missing.length > 0) {
      throw new FeatureFlagError(
        "PERMISSION_DENIED",
        `A key cannot have more permissions than the user who makes it. Leave out ${missing.join(", ")}.`,
        { details: { actions: missing } },
      );
    }
    const untilMs = Date.now() + expiresInDays * DAY_MS;
    const made = await callPlugin(call.request.context, "createApiKey", {
      body: {
        userId: caller.user.id,
        name: called,
        permissions: personalPermissions(RESOURCE, [...new Set(actions)], untilMs),
        // Flags have rate limits of their own, and the plugin's default is 10 requests per day.
        rateLimitEnabled: false,
      },
    });
    const secret = isPlainObject(made) ? made["key"] : undefined;
    if (!isKeyRow(made) || typeof secret !== "string") {
      throw new Error("The API key plugin returned no key. Check its version.");
    }
    if (!(await keepsInTable(call.request.context))) {
      await rememberKeyOwner(call.request.context, caller.user.id);
    }
    return { ...keyOf(made, {}), key: secret };
  },
};

export const deleteKey: ConsoleOperation<"delete-key"> = {
  action: "keys",
  async run(call): Promise<ConsoleAnswers["delete-key"]> {
    await admitToTenant(call, globalOnly(call));
    const { id } = parse(idInput, readBody(call));
    const { context } = call.request;
    const row =
      (await findRows(context, id))[0] ?? (await listRows(call)).rows.find((one) => one["id"] === id);
    if (row === undefined) {
      throw new FeatureFlagError("FLAG_NOT_FOUND", "There is no such API key. Check its id.", {
        details: { entity: "key" },
      });
    }
    const ownerId = ownerOf(row);
    const body = { keyId: id, ...(typeof row["configId"] === "string" && { configId: row["configId"] }) };
    const deleteAs = (userId: string) =>
      callPlugin(actingFor(context, userId), "deleteApiKey", { body, headers: new Headers() });
    try {
      await deleteAs(ownerId);
    } catch (error) {
      // The id may be that of a user and of an organization. Only the key plugin knows whose the key is.
      if (!hasStatus(error, 403) || !(await call.identity.organizationExists(ownerId))) throw error;
      await deleteAs(await anOwner(context, ownerId));
    }
    return {};
  },
};

/** With `multiTenant`, `""` names the global flags. */
export function globalOnly({ service }: GuardedCall): string | undefined {
  return service.options.multiTenant === true ? NO_TENANT : undefined;
}

type KeyRow = Readonly<Record<string, unknown>> & { readonly id: string };

/** The keys with permissions on flags: those in the database, and those of the console that are stored elsewhere. */
async function listRows(
  call: GuardedCall,
): Promise<{ rows: readonly KeyRow[]; only: "newest" | "console" | undefined }> {
  const { context } = call.request;
  requirePlugin(context, "listApiKeys");
  const stored = await findRows(context);
  if (await keepsInTable(context)) {
    return { rows: stored, only: stored.length === MAX_LISTED ? "newest" : undefined };
  }
  const caller = await call.identity.administrator();
  const makers = await keyOwnersIn(context);
  const owners = new Set(caller.kind === "user" ? [...makers, caller.user.id] : makers);
  const known = new Set(stored.map(({ id }) => id));
  const [elsewhere, without]: [KeyRow[], string[]] = [[], []];
  for (const owner of owners) {
    const own = (await listOf(context, owner, {})).filter(isPersonal);
    if (own.length === 0) without.push(owner);
    elsewhere.push(...own.filter(({ id }) => !known.has(id)));
  }
  if (makers.some((maker) => without.includes(maker))) await forgetKeyOwners(context, without);
  return { rows: [...stored, ...elsewhere], only: "console" };
}

/** The keys of a user for flags, as the key plugin lists them. */
async function listOf(context: HostContext, userId: string, query: object): Promise<readonly KeyRow[]> {
  const headers = new Headers();
  const listed = await callPlugin(actingFor(context, userId), "listApiKeys", { query, headers });
  const found: unknown = isPlainObject(listed) ? listed["apiKeys"] : undefined;
  return Array.isArray(found) ? found.filter(isKeyRow) : [];
}

/** Whether the key plugin keeps keys of the console in its table. It does not show its options, so its reads tell. */
async function keepsInTable(context: HostContext): Promise<boolean> {
  let isRead = false;
  const findMany: HostContext["adapter"]["findMany"] = (query) => {
    isRead = true;
    return context.adapter.findMany(query);
  };
  const watched: HostContext = { ...context, adapter: { ...context.adapter, findMany } };
  try {
    await listOf(watched, NO_USER, { configId: "default" });
  } catch (error) {
    // Without a default configuration, the console cannot make keys, and the table has all that can be listed.
    if (hasStatus(error, 400)) return true;
    throw error;
  }
  return isRead;
}

async function findRows(context: HostContext, id?: string): Promise<readonly KeyRow[]> {
  if (id !== undefined && !isPossibleId(context, id)) return [];
  const found = await context.adapter.findMany<Record<string, unknown>>({
    model: "apikey",
    where: [
      { field: "permissions", operator: "contains", value: `"${RESOURCE}"` },
      ...(id === undefined ? [] : [{ field: "id", value: id }]),
    ],
    sortBy: { field: "createdAt", direction: "desc" },
    limit: MAX_LISTED,
  });
  return found.filter(isKeyRow);
}

/** A member who may delete the organization's keys: the key plugin checks that. */
async function anOwner({ adapter, options }: HostContext, organizationId: string): Promise<string> {
  const plugin = options.plugins?.find(({ id }) => id === "organization");
  const { creatorRole: role = "owner" }: { readonly creatorRole?: string } = plugin?.options ?? {};
  const members = await adapter.findMany<{ userId: unknown; role: unknown }>({
    model: "member",
    where: [
      { field: "organizationId", value: organizationId },
      { field: "role", operator: "contains", value: role },
    ],
    limit: MAX_LISTED,
  });
  const owner = members.find((member) => String(member.role).split(",").includes(role));
  if (owner !== undefined) return String(owner.userId);
  const message = `is a key of the organization "${organizationId}", which has no member with the role "${role}"; give a member this role`;
  throw invalid([{ path: "id", message }]);
}

function hasStatus(error: unknown, status: number): boolean {
  return error instanceof Error && "statusCode" in error && error.statusCode === status;
}

/** The key plugin lets only the owner of a key list and delete it. Here the permission `keys` has decided. */
function actingFor(context: HostContext, userId: string): HostContext {
  return { ...context, session: { session: { userId }, user: { id: userId } } } as unknown as HostContext;
}

type KeyEndpoint = (input: {
  body?: unknown;
  query?: unknown;
  headers?: Headers;
  context: HostContext;
}) => Promise<unknown>;

type Method = "createApiKey" | "listApiKeys" | "deleteApiKey";

function callPlugin(
  context: HostContext,
  method: Method,
  input: { body?: unknown; query?: unknown; headers?: Headers },
): Promise<unknown> {
  return requirePlugin(context, method)({ ...input, context });
}

/** A method of the key plugin. The plugin is optional, so its types are not imported. */
function requirePlugin({ options }: HostContext, method: Method): KeyEndpoint {
  const plugin = options.plugins?.find(({ id }) => id === "api-key");
  const endpoint: unknown = plugin?.endpoints?.[method];
  if (typeof endpoint === "function") return endpoint as KeyEndpoint;
  const message = "needs the plugin @better-auth/api-key; add apiKey() to the plugins of Better Auth";
  throw invalid([{ path: "keys", message }]);
}

/** False for a key without permissions on flags. */
function isKeyRow(row: unknown): row is KeyRow {
  if (!isPlainObject(row) || typeof row["id"] !== "string") return false;
  return permissionsOn(row["permissions"], RESOURCE) !== undefined;
}

function isPersonal({ permissions }: KeyRow): boolean {
  return personalUntil(permissions, RESOURCE) !== undefined;
}

function ownerOf({ referenceId }: KeyRow): string {
  return String(referenceId);
}

function keyOf(row: KeyRow, names: Readonly<Record<string, string>>): ConsoleKey {
  const { id, name: called, start, permissions, enabled, createdAt, expiresAt, lastRequest } = row;
  const granted = permissionsOn(permissions, RESOURCE) ?? [];
  const ownerId = ownerOf(row);
  const ends = [isoOf(expiresAt), isoOf(personalUntil(permissions, RESOURCE))].filter(
    (end) => end !== undefined,
  );
  const [first] = ends.sort();
  const used = isoOf(lastRequest);
  return {
    id,
    ...(typeof called === "string" && { name: called }),
    ...(typeof start === "string" && { start }),
    actions: featureFlagStatements.featureFlag.filter((action) => granted.includes(action)),
    owner: { id: ownerId, ...(Object.hasOwn(names, ownerId) && { name: names[ownerId] }) },
    isPersonal: isPersonal(row),
    enabled: enabled !== false,
    createdAt: isoOf(createdAt) ?? "",
    ...(first !== undefined && { expiresAt: first }),
    ...(used !== undefined && { lastUsedAt: used }),
  };
}

/** Undefined for what is no time. */
function isoOf(value: unknown): string | undefined {
  const isTime = value instanceof Date || typeof value === "string" || typeof value === "number";
  const date = new Date(isTime ? value : Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

function onlyUsers(): FeatureFlagError {
  return new FeatureFlagError("PERMISSION_DENIED", "Only a signed-in user can make API keys. Sign in.");
}

function whileImpersonating(): FeatureFlagError {
  return new FeatureFlagError(
    "PERMISSION_DENIED",
    "An admin who impersonates a user cannot make API keys of that user. End the impersonation.",
  );
}
