/**
 * The sessions a node watches, kept in PostgreSQL: a temporary table on a connection of its own. Whether any of them has
 * changed is then one short question, where sending their tokens takes most of the time of asking for thousands.
 */
import { HostTables, type TableHost } from "../../store/host-tables.ts";
import { PostgresArray } from "../../store/postgres-array.ts";
import type { OwnClient } from "../../store/postgres-client.ts";
import { isImpossible, type PostgresPool, type PostgresRow } from "../../store/postgres-pool.ts";
import { within } from "../../store/wait.ts";
import type { KnownPrincipal } from "./principal.ts";

/** A connection that takes longer is given up. */
const ANSWER_WITHIN_MS = 1000;
/** Rows that are taken in before the table is made anew: the room of those that left it is not used again. */
const MAX_TAKEN = 200_000;
/** Rounds after which it is made anew, which is about an hour: the table holds back the clean-up of old transactions. */
const MAX_ROUNDS = 900;
/** Rounds for which a table that failed is left alone, at the longest. */
const MAX_PAUSE = 64;

/** Whatever goes wrong empties the table: who is not in it is asked for in another way. */
export class SessionTable {
  readonly #host: HostTables;
  readonly #answerWithinMs: number;
  readonly #byId = new Map<number, KnownPrincipal>();
  #open: { readonly client: OwnClient; readonly statements: Statements } | undefined;
  #taken = 0;
  #analyzed = 0;
  #rounds = 0;
  #pause = 0;
  #nextPause = 1;
  #isImpossible = false;

  private constructor(host: HostTables, answerWithinMs: number) {
    this.#host = host;
    this.#answerWithinMs = answerWithinMs;
  }

  /** Undefined where PostgreSQL cannot be asked directly. */
  static on(
    host: TableHost,
    pool: PostgresPool | undefined,
    answerWithinMs: number = ANSWER_WITHIN_MS,
  ): SessionTable | undefined {
    const tables = HostTables.on(host, pool);
    return tables === undefined ? undefined : new SessionTable(tables, answerWithinMs);
  }

  /** Whether it may be used in this round; it is asked once in each. */
  isReady(): boolean {
    if (++this.#rounds > MAX_ROUNDS) this.close();
    if (this.#pause > 0) this.#pause -= 1;
    return !this.#isImpossible && this.#pause === 0;
  }

  get size(): number {
    return this.#byId.size;
  }

  has(principal: KnownPrincipal): boolean {
    return principal.watchedBy !== undefined && principal.watchedBy === this.#open;
  }

  /** Those whose rows are gone, or are not as they were when they were taken in. They have left the table. */
  async changed(): Promise<KnownPrincipal[]> {
    if (this.#open === undefined) return [];
    const changed: KnownPrincipal[] = [];
    for (const { id } of await this.#ask(({ takeChanged }) => takeChanged)) {
      const principal = this.#byId.get(Number(id));
      if (principal === undefined) continue;
      this.#drop(principal);
      changed.push(principal);
    }
    this.#nextPause = 1;
    return changed;
  }

  /** Takes in those whose rows were last changed before `since`. */
  async add(principals: readonly KnownPrincipal[], since: Date): Promise<void> {
    if (this.#taken + principals.length > MAX_TAKEN) this.close();
    await this.#ready();
    const ids = new PostgresArray();
    const tokens = new PostgresArray();
    const asked = new Map<number, KnownPrincipal>();
    for (const principal of principals) {
      const id = this.#taken++;
      asked.set(id, principal);
      ids.add(String(id));
      tokens.addText(principal.rows?.token);
    }
    const values = [ids.literal(), tokens.literal(), since, since];
    for (const { id } of await this.#ask(({ add }) => add, values)) asked.delete(Number(id));
    for (const [id, principal] of asked) {
      this.#byId.set(id, principal);
      principal.watchedBy = this.#open;
      principal.watchId = id;
    }
    if (this.#taken < 2 * this.#analyzed) return;
    this.#analyzed = this.#taken;
    await this.#ask(({ analyze }) => analyze);
  }

  async remove(isUnwanted: (principal: KnownPrincipal) => boolean): Promise<void> {
    const ids = new PostgresArray();
    for (const [id, principal] of this.#byId) {
      if (!isUnwanted(principal)) continue;
      ids.add(String(id));
      this.#drop(principal);
    }
    const literal = ids.literal();
    if (literal !== null) await this.#ask(({ remove }) => remove, [literal]);
  }

  close(): void {
    const client = this.#open?.client;
    this.#open = undefined;
    this.#byId.clear();
    this.#taken = 0;
    this.#analyzed = 0;
    this.#rounds = 0;
    client?.end().catch(() => undefined);
  }

  #drop(principal: KnownPrincipal): void {
    this.#byId.delete(principal.watchId);
    principal.watchedBy = undefined;
  }

  async #ready(): Promise<void> {
    if (this.#open !== undefined) return;
    let client: OwnClient | undefined;
    try {
      const statements = statementsOn(
        this.#host,
        await this.#host.placeOf("session", this.#answerWithinMs),
        await this.#host.placeOf("user", this.#answerWithinMs),
      );
      client = this.#host.ownClient({
        connectWithinMs: this.#answerWithinMs,
        lost: (lost) => this.#open?.client === lost && this.close(),
      });
      await this.#inTime(client.connect());
      // With TLS, this is another socket than before.
      client.unref();
      await this.#inTime(client.query({ text: statements.create }));
      this.#open = { client, statements };
    } catch (error) {
      client?.end().catch(() => undefined);
      this.#fail(error);
    }
  }

  async #ask(statement: (all: Statements) => string, values: unknown[] = []): Promise<PostgresRow[]> {
    try {
      if (this.#open === undefined) throw new Error("The connection of the session table is gone.");
      const { client, statements } = this.#open;
      const { rows } = await this.#inTime(client.query({ text: statement(statements), values }));
      if (this.#open?.client !== client) throw new Error("The session table was closed meanwhile.");
      return rows;
    } catch (error) {
      return this.#fail(error);
    }
  }

  #inTime<Result>(work: Promise<Result>): Promise<Result> {
    return within(work, this.#answerWithinMs, "The session store did not answer in time.");
  }

  #fail(error: unknown): never {
    this.#isImpossible ||= isImpossible(error);
    this.#pause = this.#nextPause + 1;
    this.#nextPause = Math.min(MAX_PAUSE, 2 * this.#nextPause);
    this.close();
    throw error;
  }
}

interface Statements {
  readonly create: string;
  readonly takeChanged: string;
  /** Gives those that it did not take. */
  readonly add: string;
  readonly remove: string;
  /** PostgreSQL plans by what it knows of a table, and looks at a temporary one only when told. */
  readonly analyze: string;
}

function statementsOn(host: HostTables, session: string, user: string): Statements {
  // A name of its own: behind a proxy that hands connections around, a table of another node is not to be found.
  const table = `pg_temp."halyard_${crypto.randomUUID()}"`;
  const of = (model: "session" | "user", field: string) => `${model[0]}.${host.column(model, field)}`;
  const from = `${session} s join ${user} u on ${of("user", "id")} = ${of("session", "userId")}`;
  const [token, sessionAt, userAt] = [
    of("session", "token"),
    of("session", "updatedAt"),
    of("user", "updatedAt"),
  ];
  return {
    // The times have the types of the host's own columns.
    create:
      `create temporary table ${table} as select 0 as id, ${token} as token, ${sessionAt} as session_at, ` +
      `${userAt} as user_at from ${from} with no data; create unique index on ${table} (id)`,
    takeChanged:
      `delete from ${table} w where not exists (select from ${from} where ${token} = w.token ` +
      // The offset keeps PostgreSQL from reading both of the host's tables as a whole.
      `and ${sessionAt} = w.session_at and ${userAt} = w.user_at offset 0) returning w.id`,
    add:
      `with added as (insert into ${table} select asked.id, ${token}, ${sessionAt}, ${userAt} ` +
      `from unnest($1::int[], $2::text[]) as asked (id, token) join ${session} s on ${token} = asked.token ` +
      `join ${user} u on ${of("user", "id")} = ${of("session", "userId")} ` +
      `where ${sessionAt} < $3 and ${userAt} < $4 returning id) ` +
      `select asked.id from unnest($1::int[]) as asked (id) where asked.id not in (select id from added)`,
    remove: `delete from ${table} where id = any ($1)`,
    analyze: `analyze ${table}`,
  };
}
