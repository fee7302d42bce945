/** Runs a suite on every version of PostgreSQL that is installed. */
import { otherPostgresVersions, startPostgres } from "@halyard/services";
import { afterAll, beforeAll, describe, vi } from "vitest";

/** `suite` gets its databases on the server of each version in turn. */
export function onPostgresVersions(suite: () => void): void {
  describe("on the shared PostgreSQL", suite);
  describe.each(otherPostgresVersions())("on PostgreSQL $version", ({ directory }) => {
    let stop: (() => Promise<void>) | undefined;
    beforeAll(async () => {
      const server = await startPostgres(directory);
      stop = server.stop;
      vi.stubEnv("DATABASE_URL", server.url);
    });
    afterAll(async () => {
      vi.unstubAllEnvs();
      await stop?.();
    });
    suite();
  });
}
