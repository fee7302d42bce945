/** What followed sessions cost a process while nothing happens, beside what the principal cache takes for the same sessions. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { createPostgresDatabase, sized } from "@halyard/services";
import { recordEvidence } from "@halyard/services/evidence";
import { expect, onTestFinished, test } from "vitest";

const SESSIONS = sized(10_000, 100);
const SECONDS = sized(60, 5);
/** More than a session takes in the principal cache, which remembers callers without following them. */
const MAX_MORE_BYTES = 1024;
const MAX_CORES = 0.01;

test("10,000 followed sessions at rest take at most 1 KB more than cached ones, and 1 % of a core", async () => {
  const { url, drop } = await createPostgresDatabase();
  onTestFinished(drop);
  const program = new URL("../fixtures/at-rest.ts", import.meta.url).pathname;
  const measure = async (what: "cache" | "follow"): Promise<{ bytes: number; cores: number }> => {
    const options = ["--expose-gc", "--conditions=@halyard/source"];
    const input = [what, url, String(SESSIONS), String(SECONDS)];
    const { stdout } = await promisify(execFile)(process.execPath, [...options, program, ...input]);
    return JSON.parse(stdout);
  };
  const { bytes: cacheBytes } = await measure("cache");
  const { bytes, cores } = await measure("follow");
  const percent = (cores * 100).toFixed(2);
  console.log(
    `${Math.round(bytes)} bytes a session, ${Math.round(cacheBytes)} in the principal cache, ${percent} % of a core.`,
  );
  // A small run measures the process itself rather than its sessions.
  if (SESSIONS >= 10_000) {
    expect(bytes - cacheBytes).toBeLessThanOrEqual(MAX_MORE_BYTES);
    expect(cores).toBeLessThanOrEqual(MAX_CORES);
  }
  recordEvidence("sessions-at-rest", {
    what: "A process follows sessions of a Better Auth instance on PostgreSQL, and then does nothing. Every 4 s it compares all of them with the session store.",
    size: `${SESSIONS} sessions, CPU time of ${SECONDS} s.`,
    checked:
      "Heap memory after a garbage collection, before and after the sessions were followed: at most 1,024 bytes more for each than the same sessions took in the principal cache of another process. CPU time of the process: at most 1 % of a core.",
    suite: "packages/sessions/test/long/at-rest.long.test.ts",
    figures: {
      "at rest": {
        "bytes a session": Math.round(bytes),
        "bytes in the principal cache": Math.round(cacheBytes),
        "% of a core": percent,
      },
    },
  });
});
