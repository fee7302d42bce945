/** The public names of `@halyard/devtools/toolbar`: an overlay with the flags of the page, in development only. */
import { createToolbar, type FlagsToolbarClient, type FlagsToolbarOptions } from "./toolbar.ts";

export type { FlagsToolbarClient, FlagsToolbarOptions } from "./toolbar.ts";

// Bundlers replace exactly `process.env.NODE_ENV`. Without a bundler and without `process` it throws.
declare const process: { readonly env: { readonly NODE_ENV?: string } };

/**
 * Shows the flags of the page in an overlay: values, reasons, local overrides and changes. Works only if `NODE_ENV` is
 * `development` or `test`; a production build does not contain the overlay. Returns a function that removes it. A second
 * call replaces the first toolbar. Outside of a page it does nothing.
 *
 * @example
 * ```ts
 * import { mountFlagsToolbar } from "@halyard/devtools/toolbar";
 * import { featureFlagsClient } from "@halyard/flags/client";
 * import { createAuthClient } from "better-auth/client";
 *
 * const authClient = createAuthClient({ plugins: [featureFlagsClient()] });
 * mountFlagsToolbar(authClient);
 * ```
 */
export function mountFlagsToolbar(client: FlagsToolbarClient, options?: FlagsToolbarOptions): () => void {
  let create: typeof createToolbar | undefined;
  try {
    // The only reference to the toolbar is in this branch, so that bundlers drop it from production builds.
    if (process.env.NODE_ENV === "development" || process.env.NODE_ENV === "test") create = createToolbar;
  } catch {
    // A page without a bundler counts as production.
  }
  return create ? create(client, options) : () => undefined;
}
