/** The environment of the HTTP benches: a database with flags, users and their sessions, and the requests. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { closeFeatureFlags, featureFlagsPostgresMigration } from "@halyard/flags";
import { createPostgresDatabase } from "@halyard/services";
import { getMigrations } from "better-auth/db/migration";
import type { Pool } from "pg";
import { cache } from "../build.ts";
import { createAuth, ORIGIN } from "../servers/flags/auth.ts";
import { flags, MANY_RULES_KEY, manyRules, rule, trustedRule } from "../servers/flags/flags.ts";
import { emailOf, type Person, peopleOf } from "../servers/flags/people.ts";

export interface World {
  readonly databaseUrl: string;
  readonly people: readonly Person[];
  close(): Promise<void>;
}

export interface WorldOptions {
  /** Whether to add a flag with 100 rules. */
  readonly hasManyRules?: boolean;
  /** Whether the rules read the user's plan from the row. */
  readonly isTrusting?: boolean;
}

export async function createWorld(peopleCount: number, options: WorldOptions = {}): Promise<World> {
  const { url, drop } = await createPostgresDatabase({ isMeasured: true });
  const people = peopleOf(peopleCount);
  try {
    await fill(url, people, options);
  } catch (error) {
    await drop();
    throw error;
  }
  return { databaseUrl: url, people, close: drop };
}

async function fill(
  databaseUrl: string,
  people: readonly Person[],
  { hasManyRules = false, isTrusting = false }: WorldOptions,
): Promise<void> {
  // It would warn about the tables that are created next.
  const { auth, pool } = createAuth(databaseUrl, { isQuiet: true, isTrusting });
  try {
    await (await getMigrations(auth.options)).runMigrations();
    await pool.query(featureFlagsPostgresMigration);
    for (const flag of flags) {
      const { id } = await auth.api.createFeatureFlag({ body: flag });
      await auth.api.createFeatureFlagRule({ body: { flagId: id, ...(isTrusting ? trustedRule : rule) } });
    }
    if (hasManyRules) {
      const body = { key: MANY_RULES_KEY, name: MANY_RULES_KEY, type: "boolean", enabled: true } as const;
      const { id } = await auth.api.createFeatureFlag({ body });
      for (const one of manyRules) await auth.api.createFeatureFlagRule({ body: { flagId: id, ...one } });
    }
    await signIn(pool, people);
    if (isTrusting) await storePlans(pool, people);
  } finally {
    await closeFeatureFlags(auth);
    await pool.end();
  }
}

/** As if all users had signed in an hour ago. */
async function signIn(pool: Pool, people: readonly Person[]): Promise<void> {
  const ids = people.map(({ id }) => id);
  const emails = ids.map(emailOf);
  const at = new Date(Date.now() - 3_600_000);
  const until = new Date(at.getTime() + 7 * 86_400_000);
  await pool.query(
    `insert into "user" (id, name, email, "emailVerified", "createdAt", "updatedAt")
     select id, id, email, true, $3, $3 from unnest($1::text[], $2::text[]) as person (id, email)`,
    [ids, emails, at],
  );
  await pool.query(
    `insert into session (id, token, "userId", "expiresAt", "createdAt", "updatedAt")
     select id, id, id, $2, $3, $3 from unnest($1::text[]) as person (id)`,
    [ids, until, at],
  );
}

async function storePlans(pool: Pool, people: readonly Person[]): Promise<void> {
  await pool.query(
    `update "user" set plan = person.plan
     from unnest($1::text[], $2::text[]) as person (id, plan) where "user".id = person.id`,
    [people.map(({ id }) => id), people.map(({ attributes }) => attributes.plan)],
  );
}

export interface Exchange {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** A part of the correct response. */
  readonly expected: string;
}

/** A signed-in user's request, as a browser sends it. */
export function exchangeOf({ cookie }: Person, path: string, body: unknown, expected: string): Exchange {
  return { method: "POST", path: `/api/auth${path}`, headers: { origin: ORIGIN, cookie }, body, expected };
}

const folder = join(cache, `requests-${process.pid}`);

/** Writes the requests in the generator's format. Returns the path of the file, which exists as long as this process. */
export function writeExchanges(name: string, exchanges: readonly Exchange[]): string {
  if (!existsSync(folder)) {
    mkdirSync(folder, { recursive: true });
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  }
  const file = join(folder, name);
  writeFileSync(file, exchanges.map(textOf).join(""));
  return file;
}

function textOf({ method, path, headers, body, expected }: Exchange): string {
  const text = body === undefined ? "" : JSON.stringify(body);
  const all = {
    host: new URL(ORIGIN).host,
    accept: "*/*",
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0",
    "accept-language": "en",
    ...headers,
    ...(body !== undefined && { "content-type": "application/json", "content-length": String(text.length) }),
  };
  const lines = Object.entries(all).map(([key, value]) => `${key}: ${value}\r\n`);
  const request = `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${text}`;
  if (/[^\x20-\x7e\r\n]/.test(request + expected)) throw new Error("The generator sends ASCII only.");
  return `${request.length} ${expected.length}\n${request}${expected}`;
}
