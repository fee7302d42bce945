import { expect, test } from "vitest";
import { listPeers, replaceVersions } from "./newest.ts";
import { listPackages, read } from "./repository.ts";

test("the peers of all packages are listed once, with what must fit them, and without our own", () => {
  expect(
    listPeers([
      { peerDependencies: { react: "^19.0.0", "@halyard/wire": "^1.0.0" } },
      { peerDependencies: { zod: "^4.0.0", react: "^19.0.0" } },
      {},
    ]),
  ).toEqual(["react", "react-dom", "zod"]);
});

test("exact versions are replaced, and ranges and other packages stay", () => {
  const text = `{
  "version": "1.0.0",
  "peerDependencies": {
    "zod": "^4.0.0"
  },
  "devDependencies": {
    "ws": "8.0.0",
    "zod": "4.0.0"
  }
}
`;
  expect(replaceVersions(text, new Map([["zod", "4.9.0"]]))).toBe(
    text.replace('"zod": "4.0.0"', '"zod": "4.9.0"'),
  );
});

test.for(listPackages())(
  "each peer of $manifest.name has an exact version to replace",
  ({ path, manifest }) => {
    const text = read(`${path}/package.json`);
    for (const peer of listPeers([{ peerDependencies: manifest.peerDependencies ?? {} }]))
      expect(replaceVersions(text, new Map([[peer, "newest"]])), peer).toContain(`"${peer}": "newest"`);
  },
);
