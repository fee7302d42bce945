/** Better Auth's client with organizations and flags. Made once; on the server it only renders. */
import { featureFlagsAdminClient } from "@halyard/flags/admin-client";
import { featureFlagsClient } from "@halyard/flags/client";
import { organizationClient } from "better-auth/client/plugins";
import { createAuthClient } from "better-auth/react";
import { flags } from "./flags.ts";

export const authClient = createAuthClient({
  // In the browser it is the page's own origin.
  ...(typeof location === "undefined" && { baseURL: "http://localhost" }),
  plugins: [organizationClient(), featureFlagsClient({ flags }), featureFlagsAdminClient()],
});
