/** The Better Auth client plugin. It discards flag values when the signed-in user or the organization changes. */
import type { FlagDeclarations } from "../model/declared.ts";
import type { FeatureFlagErrorCodes } from "../model/errors.ts";
import {
  type ActionsControl,
  createActions,
  type FeatureFlagsActions,
  type FeatureFlagsClientOptions,
} from "./actions.ts";
import type { SeamStore } from "./seam.ts";
import { type AuthClientOptions, type AuthFetch, createTransport } from "./transport.ts";

/** The part of the Better Auth client's store that the plugin uses. */
export type AuthClientStore = { listen(signal: string, listener: () => void): void };

/** A finished request of Better Auth's client. */
export type FinishedRequest = { readonly request: { readonly url: URL | string }; readonly data: unknown };

/** The plugin that `featureFlagsClient` returns. Better Auth's client calls its members. */
export type FeatureFlagsClientPlugin<Flags extends FlagDeclarations = FlagDeclarations> = {
  /** The id of the plugin in Better Auth's client. */
  id: "feature-flags";
  /** For types only. */
  $InferServerPlugin: { id: "feature-flags"; $ERROR_CODES: FeatureFlagErrorCodes };
  /** Creates the helpers of one client. */
  getActions: (
    $fetch: AuthFetch,
    $store: AuthClientStore,
    options: AuthClientOptions | undefined,
  ) => { featureFlags: FeatureFlagsActions<Flags> };
  /** Watches for requests that change the signed-in user. */
  fetchPlugins: { id: string; name: string; hooks: { onSuccess: (finished: FinishedRequest) => void } }[];
};

/** Requests after which another user is signed in or another organization is active. */
const CHANGES_IDENTITY = new RegExp(
  `/(?:${[
    "sign-(?:in|up|out)",
    "delete-user",
    "revoke-sessions",
    "verify-email",
    "[\\w-]+/verify(?:-(?:email|totp|otp|backup-code|authentication))?",
    "one-tap/callback",
    "multi-session/(?:set-active|revoke)",
    "organization/(?:set-active|create|delete|leave|accept-invitation)",
    "admin/(?:impersonate-user|stop-impersonating)",
  ].join("|")})(?:[/?]|$)`,
);
const SIGNS_OUT = /\/sign-out(?:[/?]|$)/;
const READS_SESSION = /\/get-session(?:\?|$)/;

/**
 * The plugin that adds `featureFlags` to Better Auth's client.
 *
 * @example
 * ```ts
 * import { defineFlags, featureFlagsClient } from "@halyard/flags/client";
 * import { createAuthClient } from "better-auth/client";
 *
 * const flags = defineFlags({ "new-checkout": { type: "boolean" } });
 * const authClient = createAuthClient({ plugins: [featureFlagsClient({ flags })] });
 *
 * if (await authClient.featureFlags.isEnabled("new-checkout")) console.log("the new checkout");
 * ```
 */
export function featureFlagsClient<const Flags extends FlagDeclarations = FlagDeclarations>(
  options: FeatureFlagsClientOptions<Flags> = {},
): FeatureFlagsClientPlugin<Flags> {
  // Better Auth does not tell fetch plugins which client made a request, and several clients may share one plugin object.
  const controls = new Set<WeakRef<ActionsControl<Flags>>>();

  function each(act: (control: ActionsControl<Flags>) => void): void {
    for (const reference of controls) {
      const control = reference.deref();
      if (control === undefined) controls.delete(reference);
      else act(control);
    }
  }

  function onSuccess({ request, data }: FinishedRequest): void {
    const url = String(request.url);
    if (SIGNS_OUT.test(url)) return each((control) => control.signOut());
    if (CHANGES_IDENTITY.test(url)) return each((control) => control.changeIdentity());
    if (!READS_SESSION.test(url)) return;
    const { userId, organizationId } = readSession(data);
    each((control) => control.seeSession(userId, organizationId));
  }

  return {
    id: "feature-flags",
    $InferServerPlugin: {} as FeatureFlagsClientPlugin["$InferServerPlugin"],
    getActions($fetch, $store, clientOptions) {
      const control = createActions(createTransport($fetch, clientOptions), options);
      controls.add(new WeakRef(control));
      ($store as SeamStore).$flags = control;
      let isFirst = true;
      $store.listen("$sessionSignal", () => {
        // The store calls a new listener immediately, without a change.
        if (!isFirst) control.refresh();
        isFirst = false;
      });
      return { featureFlags: control.actions };
    },
    fetchPlugins: [{ id: "feature-flags", name: "Feature flags", hooks: { onSuccess } }],
  };
}

type SessionAnswer = {
  readonly user?: { readonly id?: string } | null;
  readonly session?: { readonly activeOrganizationId?: string | null } | null;
} | null;

function readSession(data: unknown): { userId: string | undefined; organizationId: string | undefined } {
  const { user, session } = (data as SessionAnswer) ?? {};
  return { userId: user?.id, organizationId: session?.activeOrganizationId ?? undefined };
}
