import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { countVitest, type Part, runPart, runPartsTogether, sum, summarize } from "./parts.ts";
import { root } from "./repository.ts";
import type { Tally } from "./steps.ts";

const part = (code: string, count?: (report: string) => Tally, timeoutMs = 60_000): Part => ({
  name: "part",
  timeoutMs,
  command: process.execPath,
  args: (report) => ["-e", code, report],
  ...(count === undefined ? {} : { count }),
});
const write = (text: string): string =>
  `require("fs").writeFileSync(process.argv[1], ${JSON.stringify(text)});`;
const report = write(JSON.stringify({ numPassedTests: 7, numFailedTests: 2 }));

beforeEach(() => {
  vi.spyOn(console, "log").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("a part", () => {
  test("counts as one passed when it succeeds", async () => {
    expect(await runPart(part(""))).toMatchObject({ passed: 1, failed: 0 });
  });

  test("counts as one failed when it does not", async () => {
    expect(await runPart(part("process.exit(1)"))).toMatchObject({ passed: 0, failed: 1 });
  });

  test("with a report counts the tests in it", async () => {
    const code = `${report} process.exitCode = 1`;
    expect(await runPart(part(code, countVitest))).toMatchObject({ passed: 7, failed: 2 });
  });

  test("that fails outside its tests has failed even if every test passed", async () => {
    const code = `${write('{"numPassedTests":7,"numFailedTests":0}')} process.exitCode = 1`;
    expect(await runPart(part(code, countVitest))).toMatchObject({ passed: 7, failed: 1 });
  });

  test("that ends before it writes its report has failed", async () => {
    expect(await runPart(part("process.exit(1)", countVitest))).toMatchObject({
      passed: 0,
      failed: 1,
    });
  });

  test("that hangs is ended and has failed", async () => {
    vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const result = await runPart(part("setInterval(() => {}, 1e6)", undefined, 500));
    expect(result).toMatchObject({ passed: 0, failed: 1 });
    expect(process.stderr.write).toHaveBeenCalledWith(expect.stringContaining("still running after 0.5 s"));
  });
});

describe("parts that run side by side", () => {
  test("keep their order in the results, and show their output when they have ended", async () => {
    const parts = [
      part("console.log('slow' + 1); setTimeout(() => {}, 300)"),
      part("process.exit(1)"),
      part(""),
    ];
    const named = parts.map((each, index) => ({ ...each, name: `part ${index}` }));
    const results = await runPartsTogether(named, 2);
    expect(results.map(({ name, failed }) => [name, failed])).toEqual([
      ["part 0", 0],
      ["part 1", 1],
      ["part 2", 0],
    ]);
    expect(console.log).toHaveBeenCalledWith(expect.stringMatching(/── part 0 ─+\nslow1$/));
  });
});

test("a failed test, and a file that did not load, are named in the summary with the first line of the reason", () => {
  const tally = countVitest(
    JSON.stringify({
      numPassedTests: 3,
      numFailedTests: 1,
      testResults: [
        {
          name: join(root, "a.test.ts"),
          status: "failed",
          assertionResults: [
            { fullName: "one holds", status: "passed" },
            {
              fullName: "two holds",
              status: "failed",
              failureMessages: ["Error: 1 is not 2\n    at a.test.ts"],
            },
          ],
        },
        {
          name: join(root, "b.test.ts"),
          status: "failed",
          message: "No such module\n",
          assertionResults: [],
        },
      ],
    }),
  );
  expect(tally).toMatchObject({ passed: 3, failed: 2 });
  const summary = summarize([{ name: "test", durationMs: 1, ...tally }]);
  expect(summary).toContain("failed in test: a.test.ts: two holds: Error: 1 is not 2\n");
  expect(summary).toContain("failed in test: b.test.ts: No such module\n");
  expect(summary.split("\n").at(-1)).toBe("3 passed, 2 failed");
});

test("the last line of the summary is the sum, alone", () => {
  const results = [
    { name: "check", passed: 9, failed: 0, durationMs: 1_200 },
    { name: "test", passed: 120, failed: 3, durationMs: 300_000 },
  ];
  expect(sum(results)).toEqual({ passed: 129, failed: 3 });
  const lines = summarize(results).split("\n");
  expect(lines.at(-1)).toBe("129 passed, 3 failed");
  expect(lines).toContainEqual(expect.stringMatching(/^test .* 5 min +120 +3$/));
});
