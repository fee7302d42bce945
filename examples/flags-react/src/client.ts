/** Better Auth's client with organizations and flags. Created once; the server uses it for rendering only. */
import { featureFlagsAdminClient } from "@halyard/flags/admin-client";
import { featureFlagsClient } from "@halyard/flags/client";
import { featureFlagsLiveClient } from "@halyard/flags/live-client";
import { organizationClient } from "better-auth/client/plugins";
import { createAuthClient } from "better-auth/react";
import { flags } from "./flags.ts";
import { socket } from "./socket.ts";

export const authClient = createAuthClient({
  // In the browser, the default is the origin of the page.
  ...(typeof location === "undefined" && { baseURL: "http://localhost" }),
  plugins: [
    organizationClient(),
    featureFlagsClient({ flags }),
    // Flags use the shop's own connection.
    featureFlagsLiveClient({ client: socket }),
    featureFlagsAdminClient(),
  ],
});
