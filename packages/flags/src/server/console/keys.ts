/** API keys of the signed-in user for flags, through the plugin `@better-auth/api-key`. */
import { headersOf } from "@halyard/sessions/plugin";
import * as z from "zod";
import { isPlainObject } from "../../engine/json.ts";
import type { FlagAction } from "../../model/action.ts";
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
import { actionsIn } from "./state.ts";

const RESOURCE = "featureFlag";
const DAY_SECONDS = 24 * 60 * 60;
const MAX_DAYS = 365;

const noInput = z.strictObject({});
const keyInput = z.strictObject({
  name,
  actions: z.array(z.enum(featureFlagStatements.featureFlag)).min(1),
  expiresInDays: z.number().int().min(1).max(MAX_DAYS).optional(),
});
const idInput = z.strictObject({ id: name });

export const keys: ConsoleOperation<"keys"> = {
  action: "keys",
  async run(call): Promise<ConsoleAnswers["keys"]> {
    // The keys are of the user, whose permissions on global flags decide.
    await admitToTenant(call, globalOnly(call));
    parse(noInput, readBody(call) ?? {});
    return { keys: await listKeys(call) };
  },
};

export const createKey: ConsoleOperation<"create-key"> = {
  action: "keys",
  async run(call): Promise<ConsoleAnswers["create-key"]> {
    await admitToTenant(call, globalOnly(call));
    const { name: called, actions, expiresInDays } = parse(keyInput, readBody(call));
    const caller = await call.identity.administrator();
    if (caller.kind !== "user") throw onlyUsers();
    // The key would outlive the impersonation, and no log would say who has it.
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
    const made = await callPlugin(call, "createApiKey", {
      body: {
        userId: caller.user.id,
        name: called,
        permissions: { [RESOURCE]: [...new Set(actions)] },
        // Flags have rate limits of their own, and the plugin's default is 10 requests per day.
        rateLimitEnabled: false,
        ...(expiresInDays !== undefined && { expiresIn: expiresInDays * DAY_SECONDS }),
      },
    });
    const key = keyOf(made);
    const secret = isPlainObject(made) ? made["key"] : undefined;
    if (key === undefined || typeof secret !== "string") {
      throw new Error("The API key plugin returned no key. Check its version.");
    }
    return { ...key, key: secret };
  },
};

export const deleteKey: ConsoleOperation<"delete-key"> = {
  action: "keys",
  async run(call): Promise<ConsoleAnswers["delete-key"]> {
    await admitToTenant(call, globalOnly(call));
    const { id } = parse(idInput, readBody(call));
    const known = await listKeys(call);
    if (!known.some((key) => key.id === id)) {
      throw new FeatureFlagError("FLAG_NOT_FOUND", "There is no such API key. Check its id.", {
        details: { entity: "key" },
      });
    }
    await callPlugin(call, "deleteApiKey", { body: { keyId: id }, headers: headersOf(call.request) });
    return {};
  },
};

/** With `multiTenant`, `""` names the global flags. */
export function globalOnly({ service }: GuardedCall): string | undefined {
  return service.options.multiTenant === true ? NO_TENANT : undefined;
}

async function listKeys(call: GuardedCall): Promise<ConsoleKey[]> {
  const listed = await callPlugin(call, "listApiKeys", { query: {}, headers: headersOf(call.request) });
  const found: unknown = isPlainObject(listed) ? listed["apiKeys"] : undefined;
  return Array.isArray(found) ? found.flatMap((one) => keyOf(one) ?? []) : [];
}

type KeyEndpoint = (input: {
  body?: unknown;
  query?: unknown;
  headers?: Headers;
  context: HostContext;
}) => Promise<unknown>;

/** Calls a method of the key plugin. The plugin is optional, so its types are not imported. */
async function callPlugin(
  { request }: GuardedCall,
  method: "createApiKey" | "listApiKeys" | "deleteApiKey",
  input: { body?: unknown; query?: unknown; headers?: Headers },
): Promise<unknown> {
  const plugin = request.context.options.plugins?.find(({ id }) => id === "api-key");
  const endpoint: unknown = plugin?.endpoints?.[method];
  if (typeof endpoint !== "function") {
    const message = "needs the plugin @better-auth/api-key; add apiKey() to the plugins of Better Auth";
    throw invalid([{ path: "keys", message }]);
  }
  return (endpoint as KeyEndpoint)({ ...input, context: request.context });
}

/** Undefined for a key without permissions on flags. */
function keyOf(row: unknown): ConsoleKey | undefined {
  if (!isPlainObject(row) || typeof row["id"] !== "string") return undefined;
  const { id, name: called, start, permissions, enabled, createdAt, expiresAt, lastRequest } = row;
  const granted: unknown = isPlainObject(permissions) ? permissions[RESOURCE] : undefined;
  if (!Array.isArray(granted)) return undefined;
  return {
    id,
    ...(typeof called === "string" && { name: called }),
    ...(typeof start === "string" && { start }),
    actions: featureFlagStatements.featureFlag.filter((action: FlagAction) => granted.includes(action)),
    enabled: enabled !== false,
    createdAt: isoOf(createdAt) ?? "",
    ...optional("expiresAt", isoOf(expiresAt)),
    ...optional("lastUsedAt", isoOf(lastRequest)),
  };
}

function optional<Name extends "expiresAt" | "lastUsedAt">(
  field: Name,
  value: string | undefined,
): { [Field in Name]?: string } {
  return value === undefined ? {} : ({ [field]: value } as { [Field in Name]?: string });
}

function isoOf(value: unknown): string | undefined {
  if (value instanceof Date) return value.toISOString();
  return typeof value === "string" && value !== "" ? value : undefined;
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
