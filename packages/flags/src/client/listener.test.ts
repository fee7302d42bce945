import { afterEach, expect, test, vi } from "vitest";
import { callListener } from "./listener.ts";

afterEach(() => vi.restoreAllMocks());

test("an error of a listener is reported, thrown or rejected, and the caller goes on", async () => {
  const printed = vi.spyOn(console, "error").mockReturnValue();
  callListener(() => {
    throw new Error("thrown");
  });
  callListener(async () => {
    throw new Error("rejected");
  });
  await new Promise((resolve) => setImmediate(resolve));
  const text = "[feature-flags] A listener of the flags failed.";
  expect(printed.mock.calls).toEqual([
    [text, new Error("thrown")],
    [text, new Error("rejected")],
  ]);
});
