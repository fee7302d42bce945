/** The servers that stand for those in a page's addresses: a database of its own, and the shared Redis and NATS. */

import { createPostgresDatabase, serviceUrl, type TestDatabase } from "@halyard/services";

export interface Servers {
  /** The text with the addresses of real servers. */
  replaceUrls(text: string): Promise<string>;
  remove(): Promise<void>;
}

const URL_PATTERN = /\b(postgres(?:ql)?|redis|nats):\/\/[^\s"'`]+/g;

export function createServers(): Servers {
  let database: Promise<TestDatabase> | undefined;
  const urlOf = async (scheme: string): Promise<string> => {
    if (scheme === "redis" || scheme === "nats") return serviceUrl(scheme);
    database ??= createPostgresDatabase();
    return (await database).url;
  };
  return {
    async replaceUrls(text) {
      const schemes = new Set(Array.from(text.matchAll(URL_PATTERN), ([, scheme = ""]) => scheme));
      const urls = new Map<string, string>();
      for (const scheme of schemes) urls.set(scheme, await urlOf(scheme));
      return text.replaceAll(URL_PATTERN, (whole, scheme: string) => urls.get(scheme) ?? whole);
    },
    async remove() {
      await (await database)?.drop();
    },
  };
}
