/** What a user of the client may write, with the types they may rely on: a wrong key, value or variant does not compile. */

import { createServerFlags, type FlagsBootstrap, featureFlags, serializeBootstrap } from "@halyard/flags";
import { featureFlagsAdminClient } from "@halyard/flags/admin-client";
import { defineFlags, featureFlagsClient, type JsonValue } from "@halyard/flags/client";
import { createServerProvider } from "@halyard/flags/openfeature";
import { createWebProvider } from "@halyard/flags/openfeature/web";
import { createFlagHooks, FeatureFlagsProvider } from "@halyard/flags/react";
import { testFlags } from "@halyard/flags/testing";
import type { ClientSeam } from "@halyard/flags/unstable-devtools";
import { OpenFeature as ServerOpenFeature } from "@openfeature/server-sdk";
import { OpenFeature as WebOpenFeature } from "@openfeature/web-sdk";
import { betterAuth } from "better-auth";
import { createAuthClient } from "better-auth/client";
import { createAuthClient as createReactAuthClient } from "better-auth/react";
import { createElement, type ReactElement } from "react";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function assertEqual<A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void {}

type Limits = { uploads: number; seats: number };

export const flags = defineFlags({
  "new-checkout": { type: "boolean", default: false },
  search: { type: "string", values: ["keyword", "semantic"], variants: ["control", "semantic"] },
  limits: { type: "json", default: { uploads: 10, seats: 3 } as Limits },
});

export const authClient = createAuthClient({
  plugins: [featureFlagsClient({ flags }), featureFlagsAdminClient()],
});
export const reactClient = createReactAuthClient({ plugins: [featureFlagsClient({ flags })] });
export const untypedClient = createAuthClient({ plugins: [featureFlagsClient()] });
export const { useFeatureFlag, useVariant } = createFlagHooks(flags);

export async function read(): Promise<boolean> {
  const { featureFlags: client } = authClient;
  assertEqual<Awaited<ReturnType<typeof client.isEnabled>>, boolean>();
  const search = await client.getValue("search", "keyword");
  assertEqual<typeof search, "keyword" | "semantic">();
  const limits = await client.getValue("limits");
  assertEqual<typeof limits, { readonly uploads: number; readonly seats: number }>();
  const variant = await client.getVariant("search");
  assertEqual<typeof variant, "control" | "semantic" | null>();
  const anything = await untypedClient.featureFlags.getValue("whatever");
  assertEqual<typeof anything, JsonValue | undefined>();

  // @ts-expect-error there is no such flag
  await client.isEnabled("new-chekout");
  // @ts-expect-error it is not on or off
  await client.isEnabled("search");
  // @ts-expect-error not one of its values
  await client.getValue("search", "fuzzy");
  // @ts-expect-error a value of another type
  client.setOverride("limits", 3);
  // @ts-expect-error there is no such variant
  if (variant === "treatment") return false;
  // @ts-expect-error a default of another type
  defineFlags({ broken: { type: "number", default: "1" } });
  // @ts-expect-error the admin plugin is not there
  untypedClient.featureFlags.admin;

  const { data, error } = await client.admin.flags.list({ prefix: "new-", sort: "-createdAt" });
  if (error === null) data.flags[0]?.createdAt satisfies Date | undefined;
  else error.code satisfies string | undefined;
  const tracked = await client.track("search", "clicked", 1, { idempotencyKey: "once" });
  return tracked.success && reactClient.featureFlags.isEnabled("new-checkout");
}

export function Checkout(): ReactElement {
  const limits = useFeatureFlag("limits");
  assertEqual<typeof limits.seats, number>();
  // @ts-expect-error there is no such flag
  useFeatureFlag("new-chekout");
  // @ts-expect-error there is no such variant
  const isTreated = useVariant("search")?.key === "treatment";
  return createElement("p", null, useFeatureFlag("new-checkout") && !isTreated ? "new" : "as you know it");
}

export function App({ bootstrap }: { bootstrap: FlagsBootstrap | undefined }): ReactElement {
  const client = testFlags({ "new-checkout": true }, { flags, variants: { search: "control" } });
  const inner = createElement(FeatureFlagsProvider, { client }, createElement(Checkout));
  return createElement(FeatureFlagsProvider, { client: reactClient, bootstrap }, inner);
}

export type Live = ReturnType<NonNullable<ClientSeam["live"]>>;

export const typedAuth = betterAuth({ plugins: [featureFlags({ flags })] });
export const serverFlags = createServerFlags(typedAuth, flags);

export async function renderPage(request: Request): Promise<string> {
  const isNew = await serverFlags.isEnabled("new-checkout", { headers: request.headers });
  assertEqual<typeof isNew, boolean>();
  // @ts-expect-error there is no such flag
  await serverFlags.isEnabled("new-chekout", { headers: request.headers });
  // @ts-expect-error the call does not say for whom
  await serverFlags.isEnabled("new-checkout", {});
  await ServerOpenFeature.setProviderAndWait(createServerProvider(typedAuth));
  await WebOpenFeature.setProviderAndWait(createWebProvider(authClient));
  return serializeBootstrap(await serverFlags.bootstrap({ headers: request.headers }));
}
