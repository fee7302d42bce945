import { describe, expect, test } from "vitest";
import { complete, findMissing, findUnverified, type Lock } from "./lock.ts";

const lock: Lock = {
  packages: {
    "": {},
    "node_modules/tool": {
      version: "2.0.0",
      dev: true,
      optionalDependencies: {
        "@tool/linux-x64": "2.0.0",
        "@tool/linux-arm64-musl": "2.0.0",
        "@tool/wasm-wasm32-wasi": "2.0.0",
      },
    },
    "node_modules/@tool/linux-x64": { version: "2.0.0", dev: true, optional: true },
    "node_modules/host/node_modules/tool": {
      version: "1.0.0",
      optionalDependencies: { "@tool/linux-x64": "1.0.0", "@tool/darwin-arm64": "1.0.0" },
    },
    "node_modules/host/node_modules/@tool/linux-x64": { version: "1.0.0", optional: true },
  },
};

test("a missing package is placed beside the binary that is listed", () => {
  expect(findMissing(lock).map(({ path, version }) => `${path}@${version}`)).toEqual([
    "node_modules/@tool/linux-arm64-musl@2.0.0",
    "node_modules/@tool/wasm-wasm32-wasi@2.0.0",
    "node_modules/host/node_modules/@tool/darwin-arm64@1.0.0",
  ]);
});

describe("a completed lock file", () => {
  const { packages } = complete(lock);

  test("lacks no package", () => {
    expect(findMissing({ packages })).toEqual([]);
  });

  test("says where each binary runs, so that npm downloads only those for its own platform", () => {
    expect(packages["node_modules/@tool/linux-arm64-musl"]).toEqual({
      version: "2.0.0",
      cpu: ["arm64"],
      dev: true,
      libc: ["musl"],
      optional: true,
      os: ["linux"],
    });
    expect(packages["node_modules/@tool/wasm-wasm32-wasi"]).toMatchObject({ cpu: ["wasm32"] });
  });

  test("keeps npm's order", () => {
    expect(Object.keys(packages)).toEqual(Object.keys(packages).toSorted((a, b) => a.localeCompare(b, "en")));
  });
});

test("a package without an integrity is found, unless it is an optional binary", () => {
  const packages = {
    "": {},
    "packages/mine": { version: "1.0.0" },
    "node_modules/mine": { link: true },
    "node_modules/verified": { version: "1.0.0", integrity: "sha512-x" },
    "node_modules/other-platform": { version: "1.0.0", optional: true },
    "node_modules/unverified": { version: "1.0.0" },
  };
  expect(findUnverified({ packages })).toEqual(["node_modules/unverified"]);
});

test("a package whose name contains no platform is refused", () => {
  const packages = { "node_modules/tool": { optionalDependencies: { fsevents: "1.0.0" } } };
  expect(() => complete({ packages })).toThrow("fsevents contains no platform");
});
