/** Configures Vite for this example. */
import { defaultClientConditions, defaultServerConditions, defineConfig } from "vite";

// Uses the sources of this repository instead of the build. Your application does not need these lines.
const source = "@halyard/source";

export default defineConfig({
  appType: "custom",
  resolve: { conditions: [source, ...defaultClientConditions] },
  ssr: { resolve: { conditions: [source, ...defaultServerConditions] } },
  optimizeDeps: {
    // Vite bundles installed packages before the first visit, but not linked ones: a page would load 180 files.
    include: [
      "@halyard/devtools/toolbar",
      "@halyard/flags/admin-client",
      "@halyard/flags/client",
      "@halyard/flags/live-client",
      "@halyard/flags/react",
      "@halyard/wire/client",
      "@halyard/wire/zod",
      "better-auth/client/plugins",
      "better-auth/react",
      "react",
      "react-dom/client",
      "react/jsx-dev-runtime",
    ],
    // The bundle of the last start may be older than the sources.
    force: true,
  },
});
