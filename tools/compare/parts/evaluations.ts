/** Evaluations over HTTP: the same generated requests through Better Auth's handler and on the fast path. */
import {
  comparable,
  isStale,
  type PathsOptions,
  startBothPaths,
} from "../../../packages/flags/test/both-paths.ts";
import { Generator } from "../../../packages/flags/test/engine/generate.ts";
import { createRandom } from "../../../packages/flags/test/engine/random.ts";
import { claim, createFlags } from "../../../packages/flags/test/generated-flags.ts";
import {
  type Answered,
  type Asked,
  invite,
  nextRequest,
  type People,
  plant,
} from "../../../packages/flags/test/generated-requests.ts";
import { chanceOf } from "../../../packages/flags/test/malformed.ts";
import { plantInOrganization } from "../../../packages/flags/test/organization-flags.ts";
import type { Part } from "../part.ts";
import { waitUntil } from "../wait.ts";

interface Facts {
  readonly people: People;
  readonly keys: readonly string[];
  readonly origin: string;
}

const GENERATED_FLAGS = 60;
const CLAIMS = 200;
const STALE_MS = 30_000;

/** One after another, on the same database, with the share of all requests. */
const SETTINGS: readonly (readonly [string, number, PathsOptions])[] = [
  ["flags of organizations", 0.5, { multiTenant: true }],
  ["one set of flags", 0.36, {}],
  ["sessions copied into cookies", 0.1, { cookieCache: true }],
  ["limited", 0.04, { limit: 20 }],
];

export const evaluations: Part<Facts> = {
  // Exposures are written in the background, and the time decides which of them share a row.
  comparesRows: false,
  async prepare({ fresh }, seed) {
    const paths = await startBothPaths({ fresh, multiTenant: true });
    const { host } = paths;
    const people = await invite(host);
    const generator = new Generator(createRandom(seed));
    const generated = await createFlags(host, generator, GENERATED_FLAGS);
    const keys = await plant(host, people);
    keys.push(...(await plantInOrganization(paths, people)), ...generated.map(({ name }) => name));
    const claims = Array.from({ length: CLAIMS }, (_, at) => {
      const { userId, email, role, organizationId, ...open } = claim(generator);
      // Few callers may claim to be another user.
      return at % 4 === 0 ? { userId, email, role, organizationId, ...open } : open;
    });
    await paths.close();
    return { people: { ...people, claims }, keys, origin: host.origin };
  },
  async run({ stored: { fresh }, facts: { people, keys, origin }, seed, size, record }) {
    for (const [name, share, options] of SETTINGS) {
      // Which request of a minute is the first above a limit depends on the speed of the machine.
      const paths = await startBothPaths({ ...options, fresh, origin, limitsCredentials: false });
      const chance = chanceOf(seed);
      for (let at = 0; at < Math.round(size * share); at++) {
        const request = nextRequest(chance, people, keys);
        const [first, second] = chance() < 0.5 ? (["plain", "fast"] as const) : (["fast", "plain"] as const);
        const seen = {
          [first]: await ask(paths[first].raw, request),
          [second]: await ask(paths[second].raw, request),
        };
        record({ about: `${name}, ${at}: ${request.method} ${request.path} ${request.body}`, seen });
      }
      await paths.close();
    }
  },
};

/** On a busy machine an answer may be marked as stale, because the last check of the database is over 2 s ago. */
async function ask(send: (request: Asked) => Promise<Answered>, request: Asked): Promise<unknown> {
  let answered = await send(request);
  await waitUntil(async () => {
    if (!isStale(answered)) return true;
    answered = await send(request);
    return false;
  }, STALE_MS);
  return comparable(answered);
}
