/** What a user of @halyard/devtools may write, with the types they may rely on. Compiled against the packed tarball. */
import { type AsyncApiDocument, asyncApi } from "@halyard/devtools/asyncapi";
import { createInspector, type Inspector } from "@halyard/devtools/inspector";
import { mountFlagsToolbar } from "@halyard/devtools/toolbar";
import { featureFlagsClient } from "@halyard/flags/client";
import { createRouter } from "@halyard/wire";
import { createAuthClient } from "better-auth/client";

const router = createRouter();
export const described: Promise<AsyncApiDocument> = asyncApi(router, { title: "Chat", version: "1.0.0" });
export const inspector: Inspector = createInspector(router, { showPayloads: (type) => type === "SAID" });
// @ts-expect-error the version is missing
void asyncApi(router, { title: "Chat" });

const authClient = createAuthClient({ plugins: [featureFlagsClient()] });
export const unmount: () => void = mountFlagsToolbar(authClient, { position: "bottom-left" });
// @ts-expect-error the client lacks the plugin
mountFlagsToolbar(createAuthClient({ plugins: [] }));
