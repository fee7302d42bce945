import { expect, test } from "vitest";
import { render } from "./evidence.ts";

const evidence = {
  what: "A server is asked to end.",
  size: "10 sockets.",
  checked: "Every request has one answer.",
  suite: "packages/wire/test/long/sigterm.long.test.ts",
  figures: { Node: { answered: 20, "slowest, ms": "3.1" }, Bun: { answered: 20, "slowest, ms": "2.9" } },
};

const RUN = { date: "2026-06-01", commit: "abc1234" };

test("evidence has one row for each figure and one column for each runtime", () => {
  expect(render("sigterm", evidence, RUN)).toContain(
    "|  | Node | Bun |\n| --- | ---: | ---: |\n| answered | 20 | 20 |\n| slowest, ms | 3.1 | 2.9 |\n",
  );
});

test("evidence contains the date and commit of the run, and the command to repeat it with its seed", () => {
  expect(render("sigterm", { ...evidence, seed: 7 }, RUN)).toContain(
    "Run on 2026-06-01 at commit abc1234. Repeat it with `HALYARD_SEED=7 npm run test:long -- packages/wire/test/long/sigterm.long.test.ts`",
  );
});
