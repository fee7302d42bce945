import react from "@vitejs/plugin-react";
import { defaultClientConditions, defineConfig } from "vite";
import { embedFiles } from "./embed.ts";

// Paths are relative, because the server decides where the console is mounted and sets <base>.
export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  plugins: [react(), embedFiles()],
  // The other packages are bundled from their sources, so that they need not be built first.
  resolve: { conditions: ["@halyard/source", ...defaultClientConditions] },
  build: {
    outDir: "../dist/app",
    emptyOutDir: true,
    assetsDir: "assets",
    // The policy allows no data: scripts or fonts, and images are few.
    assetsInlineLimit: 0,
    // A polyfill would be an inline script.
    modulePreload: { polyfill: false },
    target: "es2023",
    reportCompressedSize: true,
  },
});
