/** The servers that evaluate flags over HTTP. */
import { bunServer, nodeServer } from "../server.ts";
import type { HttpContestant } from "./comparison.ts";
import { unleashServer } from "./unleash.ts";

const FLAGS = import.meta.resolve("../servers/node-flags.ts");
const BARE = import.meta.resolve("../servers/node-flags-bare.ts");
const BUN = import.meta.resolve("../servers/bun-flags.ts");

export const RAW = "Halyard, raw Node";
export const FETCH = "Halyard, fetch-style";
export const ROUTER = "the same through Better Auth's router";
export const NODE_BARE = "bare node:http";

export const flagServers: readonly HttpContestant[] = [
  {
    name: RAW,
    role: "ours",
    start: ({ databaseUrl }) => nodeServer(RAW, FLAGS, databaseUrl, "raw"),
    answersAlike: true,
    knowsCallers: true,
    counts: true,
  },
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
