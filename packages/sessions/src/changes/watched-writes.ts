/** Reports which callers are concerned by what this process writes through Better Auth, whatever code writes it. */
import type { DBAdapter, DBTransactionAdapter, Where } from "@better-auth/core/db/adapter";
import type { HostContext } from "../identify/request.ts";
import { sharedPart } from "../identify/shared-parts.ts";
import { applyChange } from "./change-feed.ts";
import type { IdentityChange, RowChange } from "./identity-change.ts";

/** Called after a write, or after the transaction that contains it. A write that fails may have taken effect. */
type Report = (changes: readonly RowChange[]) => void;
type Write = (input: { readonly model: string; readonly where?: readonly Where[] }) => Promise<unknown>;
type Fields = Readonly<Record<string, unknown>>;

/** A new row changes a caller only where it is a membership. */
const CREATE = "create";
const WRITES = [CREATE, "update", "updateMany", "delete", "deleteMany", "consumeOne", "incrementOne"];
/** Operators of a condition that names values. */
const NAMING: ReadonlySet<Where["operator"]> = new Set([undefined, "eq", "in"]);
/** Changes of more rows at once concern all callers: members are looked for among all of them. */
const MAX_NAMED = 100;

/**
 * Organizations and members have no database hooks, and hooks do not see code that uses the adapter itself. So the
 * methods of the adapter are wrapped, in place, because other plugins hold the same object.
 */
export function watchIdentityWrites(context: HostContext): void {
  sharedPart(context.adapter, "watch", () => watchOf(context));
}

function watchOf(context: HostContext): { readonly report: Report } {
  const { adapter, options } = context;
  const report: Report = (changes) => {
    for (const change of changes) applyChange(context, change);
  };
  watchAdapter(adapter, report);
  watchTransactions(adapter, report);
  if (options.secondaryStorage !== undefined) watchStorage(options.secondaryStorage, report);
  return { report };
}

function watchAdapter(adapter: DBTransactionAdapter, report: Report): void {
  for (const name of WRITES) {
    wrap<Write>(adapter, name, (write) => async (input) => {
      let result: unknown;
      try {
        result = await write(input);
        return result;
      } finally {
        report(changesOf(name, input.model, input.where ?? [], result));
      }
    });
  }
}

function watchTransactions(adapter: DBAdapter, report: Report): void {
  type Run = (work: (transaction: DBTransactionAdapter) => Promise<unknown>) => Promise<unknown>;
  wrap<Run>(adapter, "transaction", (run) => async (work) => {
    const changes: RowChange[] = [];
    try {
      return await run((transaction) => {
        // Without transactions, the adapter itself takes the place of one.
        if (transaction !== adapter) watchAdapter(transaction, (made) => changes.push(...made));
        return work(transaction);
      });
    } finally {
      report(changes);
    }
  });
}

/** Sessions without database rows show their changes here only. */
function watchStorage(storage: object, report: Report): void {
  wrap<(key: string) => unknown>(storage, "delete", (remove) => async (key) => {
    try {
      return await remove(key);
    } finally {
      report([{ kind: "session", id: key }]);
    }
  });
  type Store = (key: string, value: unknown, ttl?: number) => unknown;
  wrap<Store>(storage, "set", (store) => async (key, value, ttl) => {
    try {
      return await store(key, value, ttl);
    } finally {
      if (isStoredSession(value)) report([{ kind: "session", id: key }]);
    }
  });
}

/** As Better Auth writes it. Rate limits, verifications and lists of sessions are in the same storage. */
function isStoredSession(value: unknown): boolean {
  return typeof value === "string" && value.startsWith('{"session":');
}

/** An object that cannot be changed stays as it is. */
function wrap<Method extends (...input: never[]) => unknown>(
  object: object,
  name: string,
  around: (method: Method) => Method,
): void {
  const method: unknown = Reflect.get(object, name);
  if (typeof method === "function") Reflect.set(object, name, around(method.bind(object) as Method));
}

function changesOf(name: string, model: string, where: readonly Where[], result: unknown): RowChange[] {
  const row: Fields = typeof result === "object" && result !== null ? (result as Fields) : {};
  const named = (kind: Exclude<IdentityChange["kind"], "unknown">, field: string): IdentityChange[] =>
    idsOf(field, where, row).map((id) => ({ kind, id }));
  const orUnknown = (changes: RowChange[]): RowChange[] =>
    changes.length === 0 || changes.length > MAX_NAMED ? [{ kind: "unknown" }] : changes;
  if (name === CREATE && model !== "member") return [];
  switch (model) {
    case "session": {
      const sessions = named("session", "token");
      if (sessions.length > 0) return orUnknown(sessions);
      const users = named("user", "userId");
      return orUnknown(users.length > 0 ? [...users, { kind: "session-rows" }] : []);
    }
    case "user":
      return orUnknown(named("user", "id"));
    case "member": {
      const members = [...named("member", "id"), ...named("user", "userId")];
      return orUnknown(members.length > 0 ? members : named("organization", "organizationId"));
    }
    case "organization": {
      if (name.startsWith("delete")) return orUnknown(named("organization", "id"));
      return orUnknown(idsOf("id", where, row).map((id) => ({ kind: "organization-row", id })));
    }
    default:
      return [];
  }
}

/** The values that the condition names for a field, else that of the row that the write returned. */
function idsOf(field: string, where: readonly Where[], row: Fields): string[] {
  const isAlternative = where.length > 1 && where.some(({ connector }) => connector === "OR");
  const clause = isAlternative
    ? undefined
    : where.find(({ field: name, operator }) => name === field && NAMING.has(operator));
  const values: unknown = clause?.value ?? row[field] ?? [];
  return (Array.isArray(values) ? values : [values]).map(String);
}
