import { expect, test } from "vitest";
import { render } from "./evidence.ts";

const evidence = {
  what: "A server is asked to end.",
  size: "10 sockets.",
  checked: "Every request has one answer.",
  suite: "packages/wire/test/long/sigterm.long.test.ts",
  figures: { Node: { answered: 20, "slowest, ms": "3.1" }, Bun: { answered: 20, "slowest, ms": "2.9" } },
};

test("evidence has one row for each figure and one column for each runtime", () => {
  expect(render("sigterm", evidence)).toContain(
    "|  | Node | Bun |\n| --- | ---: | ---: |\n| answered | 20 | 20 |\n| slowest, ms | 3.1 | 2.9 |\n",
  );
});

test("evidence says how to repeat the run, with its seed", () => {
  expect(render("sigterm", { ...evidence, seed: 7 })).toContain(
    "`HALYARD_SEED=7 npm run test:long -- packages/wire/test/long/sigterm.long.test.ts`",
  );
});
