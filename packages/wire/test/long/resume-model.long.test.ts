import { expect, test } from "vitest";
import { search } from "../fixtures/resume/search.ts";

test.each([1, 2, 3])(
  "two clients of two processes get each of three messages once and in order, or a gap in its place, whatever fails once and with %i kept messages",
  (size) => {
    const { violation, worlds } = search({ values: 3, clients: 2, faults: 1, size });
    expect(violation).toBeUndefined();
    expect(worlds).toBeGreaterThan(200_000);
  },
);
