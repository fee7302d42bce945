/** Checks that several processes can write to one SQLite file. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { startHost } from "./host.ts";

const WRITER = fileURLToPath(new URL("./fixtures/sqlite-writer.ts", import.meta.url));
const PROCESSES = 3;
const COUNT = 40;

async function write(path: string, flagId: string): Promise<string[]> {
  const args = ["--conditions=@halyard/source", WRITER, path, flagId, String(COUNT)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout);
}

test.each(["wal", "delete"])(
  "no change and no event of several processes on one SQLite file fails or is lost (journal mode %s)",
  { timeout: 120_000 },
  async (mode) => {
    const directory = mkdtempSync(join(tmpdir(), "halyard-flags-sqlite-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const path = join(directory, "app.db");
    const db = new DatabaseSync(path, { timeout: 5000 });
    onTestFinished(() => db.close());
    db.exec(`pragma journal_mode = ${mode}`);
    const host = await startHost({ database: db });
    onTestFinished(host.close);
    const { api } = host.auth;
    const flag = await api.createFeatureFlag({ body: { key: "shared", name: "S", type: "boolean" } });

    const failures = await Promise.all(Array.from({ length: PROCESSES }, () => write(path, flag.id)));
    expect(failures.flat()).toEqual([]);
    const { flags } = await api.listFeatureFlags({ query: {} });
    expect(flags.map(({ version }) => version)).toEqual([1 + PROCESSES * COUNT]);
    const { byVariant } = await api.getFeatureFlagStats({ params: { id: flag.id } });
    expect(byVariant[""]?.events["e"]).toMatchObject({ count: PROCESSES * COUNT });
  },
);
