/** Admits API keys to the definitions of one tenant, at the upgrade and again while the connection is open. */
import {
  type HostContext,
  IdentityError,
  KEY_HEADER,
  RequestIdentity,
  type ServerKey,
} from "@halyard/sessions/plugin";
import { WsError } from "@halyard/wire";
import { NO_TENANT } from "../../model/flag.ts";
import type { FlagAction } from "../../server/access/actions.ts";
import { judge } from "../../server/access/permission.ts";
import type { GuardedCall } from "../../server/call.ts";
import type { HostRequest } from "../../server/http/host-request.ts";
import { addressPrincipal } from "../../server/limits/principal.ts";
import type { Service } from "../../server/service.ts";

/** Definitions show rules and overrides, and evaluate any user. */
const NEEDED: readonly FlagAction[] = ["read", "evaluate-as"];

/** The flags of one auth instance. */
export interface DefinitionsHost {
  readonly context: HostContext;
  readonly service: Service;
}

/** A key, and the tenant whose definitions it may read. */
export interface AdmittedKey {
  readonly key: ServerKey;
  readonly tenant: string;
}

/**
 * Verifies the key, which the key plugin counts as one request. `organizationId` chooses among the organizations of the
 * key's owner; an organization's own key has only one. Throws a `WsError` whose message the remote process reads.
 */
export async function admitKey(
  host: DefinitionsHost,
  { headers, key, organizationId }: { headers: Headers; key: string; organizationId: string | undefined },
): Promise<AdmittedKey> {
  const { service, context } = host;
  const sent = new Headers(headers);
  // Only the key counts, even if a proxy adds other credentials.
  for (const name of ["cookie", "authorization"]) sent.delete(name);
  sent.set(KEY_HEADER, key);
  const request = requestWith(context, sent);
  const identity = new RequestIdentity(request, service.identities);
  const address = () => addressPrincipal((name) => sent.get(name), context.options);
  if (service.lookups !== undefined) identity.guardLookups(service.lookups.guard(address, false));
  try {
    const caller = await identity.administrator();
    if (caller.kind !== "key") throw notGranted();
    const tenant = await tenantFor(host, request, identity, caller.key, organizationId);
    return { key: caller.key, tenant };
  } catch (error) {
    throw refusalOf(error);
  }
}

/** The same for a key that was verified before, with the actions it has now. */
export async function admitAgain(
  host: DefinitionsHost,
  key: ServerKey,
  tenant: string,
): Promise<"granted" | "revoked"> {
  const request = requestWith(host.context, new Headers());
  const identity = new RequestIdentity(request, host.service.identities);
  try {
    const organizationId = tenant === NO_TENANT ? undefined : tenant;
    return (await tenantFor(host, request, identity, key, organizationId)) === tenant ? "granted" : "revoked";
  } catch (error) {
    if (WsError.isWsError(error) && error.code === "PERMISSION_DENIED") return "revoked";
    throw error;
  }
}

async function tenantFor(
  { service }: DefinitionsHost,
  request: HostRequest & { readonly headers: Headers },
  identity: RequestIdentity,
  key: ServerKey,
  organizationId: string | undefined,
): Promise<string> {
  const isMultiTenant = service.options.multiTenant === true;
  if (organizationId !== undefined && !isMultiTenant) {
    throw denied("organizationId needs the option multiTenant. Leave it out.");
  }
  const caller = { kind: "key", key } as const;
  const tenant = isMultiTenant ? (organizationId ?? (await identity.homeOf(caller)) ?? NO_TENANT) : NO_TENANT;
  for (const action of NEEDED) {
    const call: GuardedCall = { service, request, headers: request.headers, identity, operation: { action } };
    if ((await judge(call, caller, action, tenant)) !== "granted") throw notGranted(key);
  }
  return tenant;
}

function requestWith(context: HostContext, headers: Headers): HostRequest & { readonly headers: Headers } {
  const responseHeaders = new Headers();
  return {
    context,
    headers,
    request: { headers },
    responseHeaders,
    body: undefined,
    query: undefined,
    params: undefined,
    setHeader: (name: string, value: string) => responseHeaders.set(name, value),
    setStatus: () => undefined,
  };
}

/** Reasons in close frames have at most 123 bytes. */
function refusalOf(error: unknown): unknown {
  if (!(error instanceof IdentityError)) return error;
  const { problem, retryAfterSeconds } = error;
  if (problem === "invalid-key" || problem === "not-signed-in") {
    return new WsError(
      "UNAUTHENTICATED",
      "The API key is not valid. Check that it exists, is enabled and not expired.",
    );
  }
  return new WsError("UNAVAILABLE", error.message, undefined, {
    cause: error,
    ...(retryAfterSeconds !== undefined && { retryAfterMs: retryAfterSeconds * 1000 }),
  });
}

function notGranted(key?: ServerKey): WsError {
  const hasActions = key !== undefined && NEEDED.every((action) => key.actions.includes(action));
  return denied(
    hasActions
      ? "The owner of the API key may not read these flags. Set organizationId, or use another key."
      : 'The API key must grant featureFlag: ["read", "evaluate-as"] for these flags.',
  );
}

function denied(message: string): WsError {
  return new WsError("PERMISSION_DENIED", message);
}
