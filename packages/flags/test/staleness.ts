/**
 * Measures how long each reader of a caller or of a trusted attribute uses what a change has replaced. Each subject has one
 * reader: another one could refresh what it uses. The clock is moved in steps, so that neither the machine nor its load is
 * measured. Only public functions are called, so that the same file measures another build.
 */
import {
  connectSessions,
  findCaller,
  followCaller,
  type SessionBus,
  type SessionBusListener,
} from "@halyard/sessions";
import type { Pool } from "pg";
import { onTestFinished, vi } from "vitest";
import { freshPostgres, freshSqlite } from "./databases.ts";
import { type Host, type Person, startHost } from "./host.ts";
import { FIELDS, TRUSTED, when } from "./trusted-host.ts";
import { type WrappedHost, wrapHost } from "./wrapped-host.ts";

const FLAG = "staleness";
const STEP_MS = 250;
/**
 * The background comparisons run every 4 s, so a change at each of these times shows the worst case. The subjects have fewer
 * than 500 sessions, which are all read by value where rows have no versions.
 */
export const PHASES_MS = Array.from({ length: 15 }, (_, at) => at * STEP_MS);
/** For how long a bus loses every message. */
const GAP_MS = 2000;
const MAX_MS = 30_000;

export const READERS = [
  "followed session",
  "caller found again",
  "request",
  "request, fast path",
  "API key",
  "API key, fast path",
] as const;
export type Reader = (typeof READERS)[number];
const OF_SESSIONS: readonly Reader[] = READERS.slice(0, 4);
const OF_FOLLOWERS: readonly Reader[] = READERS.slice(0, 2);
const OF_REQUESTS: readonly Reader[] = READERS.slice(2, 4);
const OF_KEYS: readonly Reader[] = READERS.slice(4);
const IS_FAST: ReadonlySet<Reader> = new Set(["request, fast path", "API key, fast path"]);

type Model = "session" | "user" | "member" | "organization" | "apikey";

export interface Change {
  readonly name: string;
  readonly model: Model;
  /** The fields that are set. Undefined: the row is deleted. */
  readonly set?: Readonly<Record<string, unknown>>;
  readonly readers: readonly Reader[];
  /** Whether it is not announced to other processes: it changes no session, user or membership. */
  readonly isLocal?: boolean;
}

export const CHANGES: readonly Change[] = [
  { name: "session deleted", model: "session", readers: OF_SESSIONS },
  // Better Auth itself lets a session of a banned user go on until it is deleted.
  { name: "user banned", model: "user", set: { banned: true }, readers: OF_FOLLOWERS },
  { name: "role of the user", model: "user", set: { role: "admin" }, readers: OF_SESSIONS },
  { name: "email of the user", model: "user", set: { email: "" }, readers: OF_SESSIONS },
  {
    name: "active organization",
    model: "session",
    set: { activeOrganizationId: null },
    readers: OF_SESSIONS,
  },
  { name: "role in the organization", model: "member", set: { role: "admin" }, readers: OF_SESSIONS },
  { name: "member removed", model: "member", readers: OF_SESSIONS },
  { name: "trusted field of the user", model: "user", set: { plan: "new" }, readers: OF_SESSIONS },
  { name: "trusted field of the session", model: "session", set: { channel: "new" }, readers: OF_SESSIONS },
  {
    name: "trusted field of the organization",
    model: "organization",
    set: { tier: "new" },
    readers: OF_REQUESTS,
    isLocal: true,
  },
  { name: "API key switched off", model: "apikey", set: { enabled: false }, readers: OF_KEYS },
  { name: "API key deleted", model: "apikey", readers: OF_KEYS },
];

/** Who makes the change, and which processes have a bus. */
export interface Way {
  readonly name: string;
  readonly by: "this process" | "another process" | "SQL";
  readonly bus: "none" | "both" | "only the reader" | "with a gap";
  /** Whether SQL leaves `updatedAt` as it was. */
  readonly isSilent?: boolean;
}

export const WAYS: readonly Way[] = [
  { name: "by this process", by: "this process", bus: "none" },
  { name: "by another process, over the bus", by: "another process", bus: "both" },
  { name: "by another process, without a bus", by: "another process", bus: "none" },
  { name: "by a process that is not on the bus", by: "another process", bus: "only the reader" },
  {
    name: `by another process, in a gap of the bus of ${GAP_MS / 1000} s`,
    by: "another process",
    bus: "with a gap",
  },
  { name: "by SQL, without a bus", by: "SQL", bus: "none" },
  { name: "by SQL, beside a bus", by: "SQL", bus: "only the reader" },
  { name: "by SQL that leaves updatedAt as it was", by: "SQL", bus: "none", isSilent: true },
];

/** Rows in use are compared every 4 s, and what a request uses was verified or compared at most 4.8 s ago. */
const COMPARED_MS = 5000;

/** Whether the process of the reader is told of the change. */
export function isTold({ by, bus }: Way, { isLocal = false }: Change): boolean {
  return by === "this process" || (bus === "both" && !isLocal);
}

/** The longest time that a reader may take. */
export function boundOf(way: Way, change: Change, reader: Reader): number {
  // Writes to API keys are not watched.
  return isTold(way, change) && reader !== "API key, fast path" ? STEP_MS : COMPARED_MS;
}

/** A bus in this process that can lose messages. */
class MemoryBus {
  readonly #listeners = new Set<SessionBusListener>();
  #isCut = false;

  connect(): SessionBus {
    return {
      publish: async (message) => {
        if (!this.#isCut) for (const { received } of this.#listeners) received(message);
      },
      subscribe: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    };
  }

  cut(): void {
    this.#isCut = true;
  }

  restore(): void {
    this.#isCut = false;
    for (const { missed } of this.#listeners) missed();
  }
}

/** A database with an application, whose process makes the changes of "another process". */
export interface Application {
  readonly writer: Host;
  /** Runs SQL with `?` for each value. */
  sql(text: string, ...values: unknown[]): Promise<void>;
  /** Waits until the database has answered all queries. */
  settle(): Promise<void>;
  /** Options of the reader's plugin beside the trusted attributes. */
  readonly flags: { readonly postgres?: Pool };
  close(): Promise<void>;
}

export const STORES: readonly { readonly name: string; start(): Promise<Application> }[] = [
  {
    name: "SQLite",
    async start() {
      const { connect, drop } = await freshSqlite();
      const { database, close } = connect();
      const writer = await startApplication(database, {});
      return {
        writer,
        flags: {},
        sql: async (text, ...values) =>
          void database.prepare(text).run(...values.map((value) => toSqlite(value))),
        settle: () => turns(20),
        async close() {
          await writer.close();
          await close();
          await drop();
        },
      };
    },
  },
  {
    name: "PostgreSQL",
    async start() {
      const { connect, drop } = await freshPostgres();
      const { database, close } = connect();
      const writer = await startApplication(database, { postgres: database });
      return {
        writer,
        flags: { postgres: database },
        async sql(text, ...values) {
          let at = 0;
          await database.query(
            text.replaceAll("?", () => `$${++at}`),
            values,
          );
        },
        async settle() {
          for (let quiet = 0; quiet < 5; ) {
            await turns(1);
            const isIdle = database.idleCount === database.totalCount && database.waitingCount === 0;
            quiet = isIdle ? quiet + 1 : 0;
          }
        },
        async close() {
          await writer.close();
          await close();
          await drop();
        },
      };
    },
  },
];

type SqliteValue = string | number | null;

function toSqlite(value: unknown): SqliteValue {
  if (value instanceof Date) return value.toISOString();
  return typeof value === "boolean" ? Number(value) : (value as SqliteValue);
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

async function startApplication(
  database: Parameters<typeof startHost>[0]["database"],
  flags: Application["flags"],
) {
  const writer = await startHost({ ...FIELDS, database, flags: { trusted: TRUSTED, ...flags } });
  const { id } = await writer.auth.api.createFeatureFlag({
    body: { key: FLAG, name: "N", type: "string", enabled: true, defaultValue: "old" },
  });
  for (const [at, attribute] of ["user.plan", "session.channel", "organization.tier"].entries()) {
    const conditions = when(attribute, "equals", "new");
    await writer.auth.api.createFeatureFlagRule({
      body: { flagId: id, priority: at + 1, conditions, value: attribute },
    });
  }
  return writer;
}

/** In real time. Work that takes longer, with a database that has nothing to do, waits for a timer. */
const PATIENCE_MS = 50;
const realTimeout = globalThis.setTimeout;

/** Lets time pass only while `work` waits for a timer, and not while it waits for the database or for a hash. */
export async function drive<Result>(work: Promise<Result>, settle = () => turns(20)): Promise<Result> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  const over = work.then(end, end);
  for (;;) {
    await settle();
    await Promise.race([over, new Promise((resolve) => realTimeout(resolve, PATIENCE_MS))]);
    if (isOver) return work;
    await vi.advanceTimersByTimeAsync(1);
  }
}

/** A user with a session and an organization, or with an API key, to whom one change happens, and the only reader of it. */
interface Subject {
  readonly change: Change;
  readonly reader: Reader;
  readonly phaseMs: number;
  readonly person: Person;
  readonly organizationId: string;
  /** Undefined for readers with a session. */
  readonly key: Person | undefined;
  /** What the reader answered before the change. */
  before: string;
  /** The calls of the listener. */
  told: number;
  changedAtMs: number | undefined;
  staleMs: number | undefined;
}

/** The longest time of each reader. */
export type Staleness = ReadonlyMap<Change, ReadonlyMap<Reader, number>>;

/** Moves the timers and clocks from here on. Call it before the application starts, which may keep a reference to them. */
export function takeClock(): void {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"],
  });
  // No two readings of a real clock are equal: a lookup that began with a change is repeated until it began later.
  const movedMs = performance.now.bind(performance);
  let readings = 0;
  vi.spyOn(performance, "now").mockImplementation(() => {
    readings += 1;
    return movedMs() + readings * 1e-6;
  });
}

export async function measureStaleness(application: Application, way: Way): Promise<Staleness> {
  const { writer, sql, settle, flags } = application;
  const driven = <Result>(work: Promise<Result>) => drive(work, settle);
  const node = await driven(wrapHost(writer, { flags: { trusted: TRUSTED, ...flags } }));
  const bus = new MemoryBus();
  if (way.bus !== "none") onTestFinished(await driven(connectSessions(node.auth as never, bus.connect())));
  if (way.bus === "both" || way.bus === "with a gap")
    onTestFinished(await driven(connectSessions(writer.auth, bus.connect())));

  const step = async (): Promise<void> => {
    await vi.advanceTimersByTimeAsync(STEP_MS);
    await settle();
  };
  const subjects: Subject[] = [];
  for (const change of CHANGES)
    for (const reader of change.readers)
      for (const phaseMs of PHASES_MS)
        subjects.push(await driven(createSubject(writer, change, reader, phaseMs)));
  for (const table of ["user", "session"])
    await driven(sql(`update "${table}" set "updatedAt" = ?`, new Date(Date.now() - 3_600_000)));
  for (const subject of subjects)
    if (subject.reader === "followed session") await driven(follow(node, subject));
  // Twice, so that the reader has it in memory.
  for (let round = 0; round < 2; round++) {
    for (const subject of subjects) subject.before = await driven(ask(node, subject));
    await step();
  }

  const startedAtMs = performance.now();
  const isOpen = ({ staleMs }: Subject) => staleMs === undefined;
  let isCut = way.bus === "with a gap";
  if (isCut) bus.cut();
  while (subjects.some(isOpen)) {
    const passedMs = performance.now() - startedAtMs;
    if (isCut && passedMs >= (PHASES_MS.at(-1) ?? 0) + GAP_MS) {
      isCut = false;
      bus.restore();
    }
    for (const subject of subjects) {
      if (subject.changedAtMs !== undefined || passedMs < subject.phaseMs) continue;
      subject.changedAtMs = performance.now();
      await driven(makeChange(application, node, way, subject));
    }
    await settle();
    for (const subject of subjects.filter(isOpen)) {
      const { changedAtMs, before } = subject;
      const answer = await driven(ask(node, subject));
      if (changedAtMs !== undefined && answer !== before) subject.staleMs = performance.now() - changedAtMs;
    }
    // A reader that never sees the change would let the test run forever.
    if (passedMs > MAX_MS) break;
    await step();
  }
  await driven(node.close());
  return summarize(subjects);
}

let subjectCount = 0;

async function createSubject(
  writer: Host,
  change: Change,
  reader: Reader,
  phaseMs: number,
): Promise<Subject> {
  const name = `subject-${++subjectCount}`;
  const person = await writer.person(name);
  const organizationId = await writer.organization(person, name);
  const key = OF_KEYS.includes(reader) ? await writer.key({ userId: person.id }, ["evaluate-as"]) : undefined;
  return {
    ...{ change, reader, phaseMs, person, organizationId, key },
    ...{ before: "", told: 0, changedAtMs: undefined, staleMs: undefined },
  };
}

async function follow({ auth }: WrappedHost, subject: Subject): Promise<void> {
  const caller = await findCaller(auth as never, { headers: new Headers(subject.person.headers) });
  if (caller === undefined) throw new Error("The session was not found.");
  const tell = () => {
    subject.told += 1;
  };
  onTestFinished(await followCaller(auth as never, caller, { changed: tell, ended: tell }));
}

type Evaluate = (input: object) => Promise<{ readonly value: unknown; readonly context?: unknown }>;

/** What the reader knows, as text. Any other text after the change shows that it has seen the change. */
async function ask(node: WrappedHost, { reader, person, key, told }: Subject): Promise<string> {
  if (reader === "followed session") return String(told);
  const { headers } = key ?? person;
  if (reader === "caller found again")
    return JSON.stringify(await findCaller(node.auth as never, { headers: new Headers(headers) }));
  const body = { flagKey: FLAG, contextInResponse: true };
  if (IS_FAST.has(reader)) {
    const { status, json } = await node.ask("evaluate", body, headers);
    return JSON.stringify([status, json["value"], json["context"]]);
  }
  const evaluate = node.auth.api.evaluateFeatureFlag as unknown as Evaluate;
  return evaluate({ body, headers: new Headers(headers) }).then(
    ({ value, context: used }) => JSON.stringify([200, value, used]),
    (error: unknown) => String(error),
  );
}

async function makeChange(
  { writer, sql }: Application,
  node: WrappedHost,
  { by, isSilent }: Way,
  { change: { model, set }, person, key, organizationId }: Subject,
): Promise<void> {
  const fields = set && { ...set, ...("email" in set && { email: `new-${person.email}` }) };
  const [field, value] =
    model === "user"
      ? ["id", person.id]
      : model === "organization"
        ? ["id", organizationId]
        : key !== undefined
          ? ["id", key.id]
          : ["userId", person.id];
  if (by === "SQL") {
    const isDated = model === "user" || model === "session";
    const all = { ...fields, ...(isDated && isSilent !== true && { updatedAt: new Date() }) };
    const names = Object.keys(all).map((name) => `"${name}" = ?`);
    const condition = `where "${field}" = ?`;
    if (fields === undefined) return sql(`delete from "${model}" ${condition}`, value);
    return sql(`update "${model}" set ${names.join(", ")} ${condition}`, ...Object.values(all), value);
  }
  const { adapter } = await (by === "this process" ? node : writer).auth.$context;
  const where = [{ field, value }];
  if (fields === undefined) await adapter.deleteMany({ model, where });
  else await adapter.update({ model, where, update: { ...fields } });
}

function summarize(subjects: readonly Subject[]): Staleness {
  const worst = new Map<Change, Map<Reader, number>>();
  for (const { change, reader, staleMs = Number.POSITIVE_INFINITY } of subjects) {
    const row = worst.get(change) ?? new Map<Reader, number>();
    worst.set(change, row.set(reader, Math.max(staleMs, row.get(reader) ?? 0)));
  }
  return worst;
}

/** One line for each change, in seconds. */
export function printStaleness(title: string, staleness: Staleness): string {
  const cell = (ms: number | undefined) => (ms === undefined ? "–" : (ms / 1000).toFixed(2));
  const rows = [...staleness].map(([{ name }, row]) => [
    name,
    ...READERS.map((reader) => cell(row.get(reader))),
  ]);
  const table = [["in seconds", ...READERS], ...rows];
  const widths =
    table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]) =>
    row
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd();
  return [`How stale a reader was, ${title}:`, ...table.map(line)].join("\n");
}
