/** Checks that production builds of an application with the toolbar do not contain it, and where it may be mounted. */
import { fileURLToPath } from "node:url";
import { mountFlagsToolbar } from "@halyard/devtools/toolbar";
import { featureFlagsClient } from "@halyard/flags/client";
import { createAuthClient } from "better-auth/client";
import { build as esbuild } from "esbuild";
import { build as vite } from "vite";
import { afterEach, describe, expect, test, vi } from "vitest";

const APP = fileURLToPath(new URL("../fixtures/toolbar-app.ts", import.meta.url));
/** Texts of every part of the toolbar, which no minifier changes. */
const PARTS = [
  "halyard-flags-toolbar",
  "adoptedStyleSheets",
  "Local override",
  "Feature flags toolbar",
  "On the server",
  "recent change",
  "mountFlagsToolbar() needs",
];

const BUNDLERS: Readonly<Record<string, (environment: string, minify: boolean) => Promise<string>>> = {
  esbuild: async (environment, minify) => {
    const { outputFiles } = await esbuild({
      entryPoints: [APP],
      bundle: true,
      write: false,
      minify,
      format: "esm",
      conditions: ["@halyard/source"],
      define: { "process.env.NODE_ENV": JSON.stringify(environment) },
    });
    return outputFiles.map(({ text }) => text).join("");
  },
  Vite: async (environment, minify) => {
    vi.stubEnv("NODE_ENV", environment);
    const result = await vite({
      configFile: false,
      logLevel: "error",
      mode: environment,
      resolve: { conditions: ["@halyard/source", "module", "browser"] },
      build: { write: false, minify, rolldownOptions: { input: APP } },
    });
    if (!("output" in result)) throw new Error("Vite returned no single build.");
    return result.output.map((part) => (part.type === "chunk" ? part.code : "")).join("");
  },
};

afterEach(() => vi.unstubAllEnvs());

describe.each(Object.entries(BUNDLERS))("guide/flags-toolbar: Production builds with %s", (_name, bundle) => {
  test.each([true, false])(
    "a production build contains nothing of the toolbar (minified: %s)",
    async (minify) => {
      const code = await bundle("production", minify);
      expect(code).toContain("/feature-flags/bootstrap");
      expect(PARTS.filter((part) => code.includes(part))).toEqual([]);
    },
    30_000,
  );

  test("a development build contains all of it", async () => {
    const code = await bundle("development", false);
    expect(PARTS.filter((part) => !code.includes(part))).toEqual([]);
  }, 30_000);
});

describe("guide/flags-toolbar: Troubleshooting", () => {
  const client = () => createAuthClient({ baseURL: "http://app.test", plugins: [featureFlagsClient()] });

  /** The compiler refuses it, but JavaScript does not. */
  const withoutPlugin = { featureFlags: { values: () => ({}) } } as never;

  test("a client without the flags plugin is refused, with the plugin to add", () => {
    expect(() => mountFlagsToolbar(withoutPlugin)).toThrow(
      "mountFlagsToolbar() needs a client with the plugin featureFlagsClient(). Add it.",
    );
  });

  test("on a server and in production, the call does nothing", () => {
    expect(mountFlagsToolbar(client())()).toBeUndefined();
    vi.stubEnv("NODE_ENV", "production");
    expect(mountFlagsToolbar(withoutPlugin)()).toBeUndefined();
    vi.stubEnv("NODE_ENV", undefined);
    expect(mountFlagsToolbar(withoutPlugin)()).toBeUndefined();
  });
});
