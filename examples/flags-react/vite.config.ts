/** Configures Vite for this example. */
import { defaultClientConditions, defaultServerConditions, defineConfig } from "vite";

// Uses the sources of this repository instead of the build. Your application does not need these lines.
const source = "@halyard/source";

export default defineConfig({
  appType: "custom",
  resolve: { conditions: [source, ...defaultClientConditions] },
  ssr: { resolve: { conditions: [source, ...defaultServerConditions] } },
});
