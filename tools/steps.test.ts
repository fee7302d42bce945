import { afterEach, expect, test, vi } from "vitest";
import { runChosenSteps, runSteps } from "./steps.ts";

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

test("all steps run even if one fails or throws, and only failures show their output", async () => {
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

test("steps that run side by side are reported in the order of the list", async () => {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => lines.push(line));
  const events: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const good = { ok: true, output: "" };
  const tally = await runSteps(
    [
      { name: "slow", run: () => promise.then(() => good) },
      { name: "fast", run: () => ({ ok: events.push("fast") > 0, output: "" }) },
      {
        name: "last",
        run: () => {
          events.push("last");
          resolve();
          return good;
        },
      },
    ],
    2,
  );
  expect(tally).toEqual({ passed: 3, failed: 0 });
  expect(events).toEqual(["fast", "last"]);
  expect(lines.map((line) => line.split(" ")[1])).toEqual(["slow", "fast", "last"]);
});

test("a step that is named but not concerned by the change is skipped, and the output says so", async () => {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => lines.push(line));
  const steps = ["types", "words"].map((name) => ({ name, run: () => ({ ok: false, output: "" }) }));
  const choose = (name: string): Promise<void> =>
    runChosenSteps(
      steps,
      { names: [name], report: undefined, changed: true },
      { isNeeded: (step) => step.name === "words" },
    );
  await choose("types");
  expect(lines).toEqual(["Not concerned by this change: types."]);
  expect(process.exitCode).toBe(0);
  await choose("words");
  expect(process.exitCode).toBe(1);
  await expect(choose("gone")).rejects.toThrow('No step is called "gone". Use one of: types, words.');
});
