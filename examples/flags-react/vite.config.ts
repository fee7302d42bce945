import { defaultClientConditions, defaultServerConditions, defineConfig } from "vite";

// The sources of this repository instead of its build. An application of your own does not need these lines.
const source = "@halyard/source";

export default defineConfig({
  appType: "custom",
  resolve: { conditions: [source, ...defaultClientConditions] },
  ssr: { resolve: { conditions: [source, ...defaultServerConditions] } },
});
