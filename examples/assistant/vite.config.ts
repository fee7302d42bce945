import { defaultClientConditions, defineConfig } from "vite";

export default defineConfig({
  // Uses the sources of this repository instead of its build. Your own application does not need this line.
  resolve: { conditions: ["@halyard/source", ...defaultClientConditions] },
  // Page and socket share one origin, as behind a proxy in production.
  server: { proxy: { "/ws": { target: `ws://localhost:${process.env["PORT"] ?? 3000}`, ws: true } } },
});
