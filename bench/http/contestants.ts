/** The servers that evaluate flags over HTTP. */
import { bunServer, nodeServer } from "../server.ts";
import { keys } from "../servers/flags/flags.ts";
import type { HttpContestant } from "./comparison.ts";
import { unleashServer } from "./unleash.ts";
import { type Exchange, exchangeOf, type World } from "./world.ts";

const FLAGS = import.meta.resolve("../servers/node-flags.ts");
const BARE = import.meta.resolve("../servers/node-flags-bare.ts");
const BUN = import.meta.resolve("../servers/bun-flags.ts");

export const RAW = "Halyard, raw Node";
export const FETCH = "Halyard, fetch-style";
export const ROUTER = "the same through Better Auth's router";
export const NODE_BARE = "bare node:http";

/** Each user evaluates one flag. */
export function evaluations({ people }: World): Exchange[] {
  return people.map((person, index) => {
    const body = { flagKey: keys[index % keys.length], context: { attributes: person.attributes } };
    return exchangeOf(person, "/feature-flags/evaluate", body, '"evaluatedAt":"');
  });
}

/** Our raw handler. `plan` says where the rules get the plan from: the request or the user's row. */
export function rawServer(name: string, plan: "claimed" | "trusted"): HttpContestant {
  return {
    name,
    role: "ours",
    start: ({ databaseUrl }) => nodeServer(name, FLAGS, databaseUrl, "raw", plan),
    knowsCallers: true,
    counts: true,
  };
}

export const flagServers: readonly HttpContestant[] = [
  { ...rawServer(RAW, "claimed"), answersAlike: true },
  {
    name: FETCH,
    role: "ours",
    start: ({ databaseUrl }) => nodeServer(FETCH, FLAGS, databaseUrl, "fetch"),
    answersAlike: true,
    knowsCallers: true,
    counts: true,
  },
  {
    name: ROUTER,
    role: "baseline",
    start: ({ databaseUrl }) => nodeServer(ROUTER, FLAGS, databaseUrl, "router"),
    answersAlike: true,
  },
  {
    name: NODE_BARE,
    role: "baseline",
    start: ({ databaseUrl }) => nodeServer(NODE_BARE, BARE, databaseUrl),
    answersAlike: true,
  },
  unleashServer,
  {
    name: "Halyard, Bun",
    role: "ours",
    isExtra: true,
    start: ({ databaseUrl }) => bunServer("Halyard, Bun", BUN, databaseUrl, "wrapped"),
    answersAlike: true,
    knowsCallers: true,
    counts: true,
  },
  {
    name: "bare Bun",
    role: "baseline",
    isExtra: true,
    start: ({ databaseUrl }) => bunServer("bare Bun", BUN, databaseUrl, "bare"),
    answersAlike: true,
  },
];
