import { defaultClientConditions, defineConfig } from "vite";

export default defineConfig({
  // The sources of this repository instead of its build. An application of your own does not need this line.
  resolve: { conditions: ["@halyard/source", ...defaultClientConditions] },
  server: {
    // Page and socket on one origin, as behind a proxy in production: the chat server admits no other by itself.
    proxy: { "/ws": { target: `ws://localhost:${process.env["PORT"] ?? 3000}`, ws: true } },
  },
});
