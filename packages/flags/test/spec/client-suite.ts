/** A server on PostgreSQL that the tests of a client suite share. */
import { afterAll, afterEach, beforeAll, beforeEach, vi } from "vitest";
import { freshPostgres } from "../databases.ts";
import { type Host, startHost } from "../host.ts";

/** Starts the server before the first test and calls `use` with it; silences the client's warnings. */
export function clientSuite(use: (host: Host) => Promise<void>): void {
  let stop: () => Promise<void>;
  beforeAll(async () => {
    const postgres = await freshPostgres();
    const { database, close } = postgres.connect();
    const host = await startHost({ database });
    await use(host);
    stop = async () => {
      await host.close();
      await close();
      await postgres.drop();
    };
  });
  afterAll(() => stop());
  beforeEach(() => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });
}
