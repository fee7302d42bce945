/** A Better Auth instance for tests: on SQLite or PostgreSQL, with or without Redis as secondary storage. */
import { DatabaseSync } from "node:sqlite";
import { createPostgresDatabase, createRedisPrefix } from "@halyard/services";
import { openPool } from "@halyard/services/postgres-pool";
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { admin, bearer, multiSession, oneTimeToken, organization } from "better-auth/plugins";
import { createClient } from "redis";
import { onTestFinished } from "vitest";

export interface StoreOptions {
  readonly database: "sqlite" | "postgres";
  /** Sessions are in Redis only. */
  readonly storage: boolean;
}

/** Every store that Better Auth's sessions may be in. */
export const STORES: readonly (StoreOptions & { readonly name: string })[] = [
  { name: "SQLite", database: "sqlite", storage: false },
  { name: "SQLite with Redis", database: "sqlite", storage: true },
  { name: "PostgreSQL", database: "postgres", storage: false },
  { name: "PostgreSQL with Redis", database: "postgres", storage: true },
];

/** A store that several auth instances share, as the processes of an application do. */
export interface Store {
  readonly options: Pick<BetterAuthOptions, "database" | "secondaryStorage">;
  /** Runs SQL past Better Auth. `?` is a parameter. */
  sql(text: string, ...values: string[]): Promise<void>;
}

export interface Person {
  readonly id: string;
  readonly email: string;
  readonly token: string;
  readonly cookie: string;
}

const BASE_URL = "http://auth.example";
const PASSWORD = "correct horse battery";

/** Registers what removes a part of the store: by default at the end of the test. */
type AtEnd = (clean: () => void | Promise<void>) => void;

export async function createStore(
  { database, storage }: StoreOptions,
  atEnd: AtEnd = onTestFinished,
): Promise<Store> {
  const [main, execute] = await (database === "sqlite" ? createSqlite(atEnd) : createPostgres(atEnd));
  const secondaryStorage = storage ? await createStorage(atEnd) : undefined;
  return {
    options: { database: main, ...(secondaryStorage && { secondaryStorage }) },
    sql: execute,
  };
}

type Execute = Store["sql"];

async function createSqlite(atEnd: AtEnd): Promise<[BetterAuthOptions["database"], Execute]> {
  const database = new DatabaseSync(":memory:");
  atEnd(() => database.close());
  return [database, async (text, ...values) => void database.prepare(text).run(...values)];
}

async function createPostgres(atEnd: AtEnd): Promise<[BetterAuthOptions["database"], Execute]> {
  const { url, drop } = await createPostgresDatabase();
  const pool = openPool({ connectionString: url, max: 5 });
  atEnd(async () => {
    await pool.end();
    await drop();
  });
  return [
    pool,
    async (text, ...values) => {
      let at = 0;
      const numbered = text.replaceAll("?", () => `$${++at}`);
      await pool.query(numbered, values);
    },
  ];
}

async function createStorage(atEnd: AtEnd): Promise<NonNullable<BetterAuthOptions["secondaryStorage"]>> {
  const { url, prefix } = await createRedisPrefix();
  const keys = new Set<string>();
  const client = await createClient({ url })
    .on("error", () => {})
    .connect();
  atEnd(async () => {
    if (keys.size > 0) await client.del([...keys]);
    await client.close();
  });
  return {
    get: (key) => client.get(prefix + key),
    set: (key, value, ttl) => {
      keys.add(prefix + key);
      return client.set(prefix + key, value, ttl ? { EX: ttl } : {});
    },
    delete: async (key) => {
      await client.del(prefix + key);
    },
    getAndDelete: (key) => client.getDel(prefix + key),
    increment: (key) => client.incr(prefix + key),
  };
}

type MoreOptions = Pick<BetterAuthOptions, "session" | "baseURL" | "user" | "plugins">;

function optionsOf(store: Store, { plugins = [], ...more }: MoreOptions) {
  return {
    baseURL: BASE_URL,
    secret: "a secret for tests that is long enough 0123456789",
    ...store.options,
    emailAndPassword: {
      enabled: true,
      sendResetPassword: async () => {},
      // Real hashing takes longer than the whole test.
      password: {
        hash: async (password: string) => `plain:${password}`,
        verify: async ({ hash, password }: { hash: string; password: string }) =>
          hash === `plain:${password}`,
      },
    },
    user: {
      deleteUser: { enabled: true },
      changeEmail: { enabled: true, updateEmailWithoutVerification: true },
    },
    rateLimit: { enabled: false },
    logger: { disabled: true },
    telemetry: { enabled: false },
    plugins: [
      admin(),
      organization({ teams: { enabled: true } }),
      bearer(),
      oneTimeToken(),
      multiSession(),
      // The type of `auth.api` does not depend on them.
      ...(plugins as []),
    ],
    ...more,
  } satisfies BetterAuthOptions;
}

/** One process of the application. */
export async function startAuth(store: Store, more: MoreOptions = {}) {
  const options = optionsOf(store, more);
  await (await getMigrations(options)).runMigrations();
  const auth = betterAuth(options);
  let people = 0;

  async function call(path: string, { as, body = {} }: { as?: { cookie: string }; body?: object } = {}) {
    const response = await auth.handler(
      new Request(`${BASE_URL}/api/auth${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: BASE_URL, ...(as && { cookie: as.cookie }) },
        body: JSON.stringify(body),
      }),
    );
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} returned ${response.status} ${text}`);
    // biome-ignore lint/suspicious/noExplicitAny: a test names the fields it expects.
    const json: any = text === "" ? undefined : JSON.parse(text);
    return { json, cookie: cookieOf(response) };
  }

  async function signedIn(path: string, body: { email: string }): Promise<Person> {
    const { json, cookie } = await call(path, { body: { ...body, password: PASSWORD } });
    return { id: json.user.id, email: body.email, token: json.token, cookie };
  }

  return {
    auth,
    call,
    password: PASSWORD,
    headers: ({ cookie }: { cookie: string }) => new Headers({ cookie }),
    person: (name: string) =>
      signedIn("/sign-up/email", { ...{ name }, email: `${name}-${++people}@example.com` }),
    /** Another session of the same person. */
    again: ({ email }: Person) => signedIn("/sign-in/email", { email }),
    async administrator(): Promise<Person> {
      const person = await signedIn("/sign-up/email", { ...{ name: "root" }, email: "root@example.com" });
      await store.sql(`update "user" set role = 'admin' where id = ?`, person.id);
      return signedIn("/sign-in/email", person);
    },
  };
}

export type Host = Awaited<ReturnType<typeof startAuth>>;

function cookieOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((line) => line.split(";", 1)[0] ?? "")
    .filter((pair) => !pair.endsWith("="))
    .join("; ");
}
