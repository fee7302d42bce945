import { afterEach, expect, test, vi } from "vitest";
import { runSteps } from "./steps.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

test("all steps run although one fails or throws, and only failures show their output", async () => {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => lines.push(line));
  const tally = await runSteps([
    { name: "bad", run: () => ({ ok: false, output: "the reason" }) },
    { name: "broken", run: () => Promise.reject(new Error("the accident")) },
    { name: "good", run: () => ({ ok: true, output: "chatter" }) },
  ]);
  const text = lines.join("\n");
  expect(tally).toEqual({ passed: 1, failed: 2 });
  expect(text).toMatch(/✗ bad .*\n\nthe reason\n/);
  expect(text).toMatch(/✗ broken .*\n\nError: the accident/);
  expect(text).toMatch(/✓ good /);
  expect(text).not.toContain("chatter");
});
