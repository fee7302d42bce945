/**
 * Asks the session store whether sessions are still as they were: many at once, before their owners come back, and by
 * counting rows, which costs a tenth of reading them.
 */
import type { DBAdapter, Where } from "@better-auth/core/db/adapter";
import { later, within } from "../../store/wait.ts";
import type { CheckTime, KnownPrincipal, SessionRows } from "./principal.ts";
import type { SessionCount } from "./session-count.ts";
import type { SessionTable } from "./session-table.ts";

/** `changed`: something is no longer as it was, so it must be read anew. `unknown`: the store could not be asked. */
export type Confirmation = "confirmed" | "changed" | "unknown";

export interface SessionWatch {
  /** Whether counting can tell a change of this one: it is in the database, and was not changed just now. */
  canAsk(principal: KnownPrincipal): boolean;
  /** Asks for one whose owner is waiting, together with all others who are. Never rejects. */
  confirm(principal: KnownPrincipal): Promise<Confirmation>;
  /** Whether the store did not answer when it was last asked. It is asked again, with this one, behind the answer. */
  isDown(principal: KnownPrincipal): boolean;
  /** Asks for those in use, again and again. */
  start(principals: () => Iterable<KnownPrincipal>, forget: (principal: KnownPrincipal) => void): void;
  stop(): void;
}

export interface SessionWatchOptions {
  readonly adapter: Pick<DBAdapter, "findMany">;
  readonly count: SessionCount;
  /** Where there is one, it is used for so many and more: it takes a connection. */
  readonly table?: SessionTable | undefined;
  readonly tableFrom?: number | undefined;
  /** The columns that say what is remembered of a user and a session, as far as the host has them. */
  readonly fields: { readonly role: boolean; readonly activeOrganizationId: boolean };
  readonly monotonicMs?: (() => number) | undefined;
  readonly nowMs?: (() => number) | undefined;
  readonly intervalMs?: number | undefined;
}

/** Less than a check is trusted for, by enough for the asking. */
const INTERVAL_MS = 4000;
/** Those who have not been seen for this long wait when they come back. */
const IN_USE_MS = 60_000;
/** By as much the clocks of the nodes may differ. */
const CLOCK_SKEW_MS = 10_000;
/** Rows in one question: a question costs as much as hundreds of them. */
const MAX_BLOCK = 5000;
const TABLE_FROM = 1000;
const ANSWER_WITHIN_MS = 1000;
const RETRY_DOWN_MS = 1000;
/** A change that leaves `updatedAt` as it was is noticed after this time, by reading the rows. */
const COMPARE_MS = 10 * 60_000;
const MAX_COMPARED = 200;
/** Parts of a block in which something has changed, each of which is asked for again. */
const PARTS = 8;

export function createSessionWatch({
  adapter,
  count,
  table,
  tableFrom = TABLE_FROM,
  fields,
  monotonicMs = () => performance.now(),
  nowMs = Date.now,
  intervalMs = INTERVAL_MS,
}: SessionWatchOptions): SessionWatch {
  let maxBlock = MAX_BLOCK;
  let failedAtMs: number | undefined;
  let waiting = new Map<KnownPrincipal, (outcome: Confirmation) => void>();
  const asked = new Map<KnownPrincipal, Promise<Confirmation>>();
  let isServing = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;

  async function ask(question: () => Promise<number>): Promise<number> {
    try {
      const answer = await question();
      failedAtMs = undefined;
      return answer;
    } catch (error) {
      failedAtMs = monotonicMs();
      throw error;
    }
  }

  /** How many rows have changed, of the first kind of which any have. All were known to be older than `cutMs`. */
  async function countChanged(block: readonly KnownPrincipal[], cutMs: number): Promise<number> {
    const changed = await ask(() => count.changed(block.map(rowsOf), sinceOf(cutMs)));
    return changed !== 0 ? changed : countMoved(block);
  }

  async function countMoved(principals: Iterable<KnownPrincipal>): Promise<number> {
    for (const [role, ids] of membersByRole(principals)) {
      const moved = await ask(() => count.moved(ids, role));
      if (moved !== 0) return moved;
    }
    return 0;
  }

  /** Confirms what it can of a block; the others have changed. Throws when the store cannot be asked. */
  async function confirmBlock(
    block: readonly KnownPrincipal[],
    changed: (principal: KnownPrincipal) => void,
  ): Promise<void> {
    const startedAt: CheckTime = { monotonicMs: monotonicMs(), wallMs: nowMs() };
    const cutMs = cutOf(block);
    const missing = cutMs === undefined ? undefined : await countChanged(block, cutMs);
    if (missing === 0) {
      for (const principal of block) principal.confirmedAt = startedAt;
    } else if (missing !== undefined && isMost(missing, block.length)) {
      // With so many changed, those who come back may as well be read anew.
      for (const principal of block) changed(principal);
    } else {
      // In the order of their changes, so that a part has one time before which all of it was changed last.
      const sorted = [...block].sort((a, b) => rowsOf(a).touchedAtMs - rowsOf(b).touchedAtMs);
      const size = Math.ceil(sorted.length / PARTS);
      for (let at = 0; at < sorted.length; at += size) {
        await confirmBlock(sorted.slice(at, at + size), changed);
      }
    }
  }

  async function confirmAll(
    principals: readonly KnownPrincipal[],
    changed: (principal: KnownPrincipal) => void,
  ): Promise<void> {
    for (let at = 0; at < principals.length; ) {
      const block = principals.slice(at, at + maxBlock);
      try {
        await confirmBlock(block, changed);
      } catch (error) {
        // Some databases take only so many values in one question: one value tells whether it was that.
        const [one] = block;
        if (one === undefined || block.length === 1 || !(await canBeAsked(one))) throw error;
        maxBlock = Math.ceil(block.length / PARTS);
        continue;
      }
      at += block.length;
    }
  }

  async function canBeAsked(principal: KnownPrincipal): Promise<boolean> {
    return ask(() => count.changed([rowsOf(principal)], new Date(nowMs()))).then(
      () => true,
      () => false,
    );
  }

  /** Those who wait while others are asked for are the next block. */
  async function serve(): Promise<void> {
    if (isServing) return;
    isServing = true;
    while (waiting.size > 0) {
      const block = waiting;
      waiting = new Map();
      const changed = new Set<KnownPrincipal>();
      const isKnown = await confirmAll([...block.keys()], (one) => changed.add(one)).then(
        () => true,
        () => false,
      );
      for (const [principal, settle] of block) {
        settle(changed.has(principal) ? "changed" : isKnown ? "confirmed" : "unknown");
      }
    }
    isServing = false;
  }

  /** Confirms those in the table, and those whom it takes in. Gives the others, to be asked for in the ordinary way. */
  async function confirmByTable(
    watched: SessionTable,
    inUse: readonly KnownPrincipal[],
    forget: (principal: KnownPrincipal) => void,
  ): Promise<readonly KnownPrincipal[]> {
    const startedAt: CheckTime = { monotonicMs: monotonicMs(), wallMs: nowMs() };
    for (const principal of await watched.changed()) forget(principal);
    const strangers: KnownPrincipal[] = [];
    const members: KnownPrincipal[] = [];
    let wanted = 0;
    for (const one of inUse) {
      if (!watched.has(one)) {
        if (!one.isForgotten) strangers.push(one);
        continue;
      }
      wanted += 1;
      // What is in the table does not speak of memberships.
      if (one.memberships === undefined) one.confirmedAt = startedAt;
      else members.push(one);
    }
    if (wanted < watched.size)
      await watched.remove((one) => one.isForgotten || startedAt.monotonicMs - one.usedAtMs > IN_USE_MS);
    for (const block of blocksOf(members)) {
      if ((await countMoved(block)) === 0) for (const one of block) one.confirmedAt = startedAt;
    }
    for (const block of blocksOf(strangers)) await takeIn(watched, block);
    return [...members, ...strangers].filter((one) => one.confirmedAt.monotonicMs < startedAt.monotonicMs);
  }

  /** Those who changed too lately for one time to tell are left for another round. */
  async function takeIn(watched: SessionTable, block: readonly KnownPrincipal[]): Promise<void> {
    const startedAt: CheckTime = { monotonicMs: monotonicMs(), wallMs: nowMs() };
    const seenMs = Math.min(...block.map(({ confirmedAt }) => confirmedAt.wallMs));
    const settled = block.filter((one) => rowsOf(one).touchedAtMs <= seenMs - CLOCK_SKEW_MS);
    const cutMs = cutOf(settled);
    if (cutMs === undefined) return;
    await watched.add(settled, sinceOf(cutMs));
    for (const one of settled)
      if (watched.has(one) && one.memberships === undefined) one.confirmedAt = startedAt;
  }

  /** Those whom the table could not confirm. When it fails, nothing is lost but its help. */
  async function leftByTable(
    inUse: readonly KnownPrincipal[],
    forget: (principal: KnownPrincipal) => void,
  ): Promise<readonly KnownPrincipal[]> {
    if (table === undefined) return inUse;
    if (inUse.length < tableFrom) {
      table.close();
      return inUse;
    }
    // Only the ordinary way tells that the store answers again.
    const isUsable = table.isReady() && failedAtMs === undefined;
    return isUsable ? confirmByTable(table, inUse, forget).catch(() => inUse) : inUse;
  }

  /** Compares what the rows say. Where they cannot be read, the next questions tell whether the store is down. */
  async function compare(
    principals: readonly KnownPrincipal[],
    forget: (principal: KnownPrincipal) => void,
  ): Promise<void> {
    if (principals.length === 0) return;
    const startedAtMs = monotonicMs();
    const sessions = await readRows(
      "session",
      "token",
      fields.activeOrganizationId && "activeOrganizationId",
      [...new Set(principals.map((one) => rowsOf(one).token))],
    );
    const users = await readRows("user", "id", fields.role && "role", [
      ...new Set(principals.map((one) => rowsOf(one).userId)),
    ]);
    for (const principal of principals) {
      const { token, userId } = rowsOf(principal);
      principal.comparedAtMs = startedAtMs;
      if (!isSame(principal, sessions.get(token), users.get(userId))) forget(principal);
    }
  }

  async function readRows(
    model: "session" | "user",
    key: string,
    field: string | false,
    values: string[],
  ): Promise<Map<unknown, Record<string, unknown>>> {
    const select = [key, ...(model === "user" ? ["email"] : []), ...(field === false ? [] : [field])];
    const where: Where[] = [{ field: key, operator: "in", value: values }];
    const question = adapter.findMany<Record<string, unknown>>({
      model,
      where,
      select,
      limit: values.length,
    });
    const rows = await within(question, ANSWER_WITHIN_MS, "The session store did not answer in time.");
    return new Map(rows.map((row) => [row[key], row]));
  }

  async function round(
    principals: Iterable<KnownPrincipal>,
    forget: (principal: KnownPrincipal) => void,
  ): Promise<void> {
    const now = monotonicMs();
    const inUse: KnownPrincipal[] = [];
    const due: KnownPrincipal[] = [];
    for (const principal of principals) {
      if (now - principal.usedAtMs > IN_USE_MS || !canAsk(principal)) continue;
      inUse.push(principal);
      if (now - principal.comparedAtMs >= COMPARE_MS && due.length < MAX_COMPARED) due.push(principal);
    }
    await confirmAll(await leftByTable(inUse, forget), forget);
    await compare(
      due.filter((one) => !one.isForgotten),
      forget,
    );
  }

  function canAsk({ rows, confirmedAt }: KnownPrincipal): boolean {
    return rows !== undefined && rows.touchedAtMs <= confirmedAt.wallMs - CLOCK_SKEW_MS;
  }

  function confirm(principal: KnownPrincipal): Promise<Confirmation> {
    const running = asked.get(principal);
    if (running !== undefined) return running;
    const outcome = new Promise<Confirmation>((resolve) => {
      waiting.set(principal, resolve);
    }).finally(() => asked.delete(principal));
    asked.set(principal, outcome);
    void serve();
    return outcome;
  }

  return {
    canAsk,
    confirm,
    isDown(principal) {
      if (failedAtMs === undefined) return false;
      if (!isServing && monotonicMs() - failedAtMs >= RETRY_DOWN_MS) void confirm(principal);
      return true;
    },
    start(principals, forget) {
      if (timer !== undefined || stopped) return;
      const run = async () => {
        const startedAtMs = monotonicMs();
        // What went wrong shows in `isDown`, and those who come are told.
        await round(principals(), forget).catch(() => undefined);
        // It may have been opened again since.
        if (stopped) return table?.close();
        const waitMs = failedAtMs === undefined ? intervalMs : RETRY_DOWN_MS;
        timer = later(() => void run(), Math.max(0, startedAtMs + waitMs - monotonicMs()));
      };
      timer = later(() => void run(), intervalMs);
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
      table?.close();
    },
  };
}

/**
 * A time by which all of them had changed last, and after which none was looked at: what has changed since has changed
 * after it. Undefined where no time is both.
 */
function cutOf(block: readonly KnownPrincipal[]): number | undefined {
  let touchedMs = Number.NEGATIVE_INFINITY;
  let seenMs = Number.POSITIVE_INFINITY;
  for (const principal of block) {
    touchedMs = Math.max(touchedMs, rowsOf(principal).touchedAtMs);
    seenMs = Math.min(seenMs, principal.confirmedAt.wallMs);
  }
  return touchedMs <= seenMs - CLOCK_SKEW_MS ? touchedMs : undefined;
}

function* blocksOf(principals: readonly KnownPrincipal[]): Generator<KnownPrincipal[]> {
  for (let at = 0; at < principals.length; at += MAX_BLOCK) yield principals.slice(at, at + MAX_BLOCK);
}

/** Databases may keep parts of a millisecond, which a `Date` has lost. */
function sinceOf(cutMs: number): Date {
  return new Date(cutMs + 1);
}

/** Whether so many of a block have changed that it is not worth finding out which. */
function isMost(changed: number, size: number): boolean {
  return size === 1 || (size > PARTS && changed >= size / 2);
}

function membersByRole(block: Iterable<KnownPrincipal>): Map<string, Set<string>> {
  const byRole = new Map<string, Set<string>>();
  for (const { memberships } of block) {
    if (memberships === undefined) continue;
    for (const { id, role } of memberships.values()) {
      const ids = byRole.get(role) ?? new Set();
      byRole.set(role, ids.add(id));
    }
  }
  return byRole;
}

function isSame(
  { caller }: KnownPrincipal,
  session: Readonly<Record<string, unknown>> | undefined,
  user: Readonly<Record<string, unknown>> | undefined,
): boolean {
  if (caller.kind !== "user" || session === undefined || user === undefined) return false;
  const { email, role, activeOrganizationId } = caller.user;
  return (
    user["email"] === email &&
    (user["role"] ?? undefined) === role &&
    (session["activeOrganizationId"] || undefined) === activeOrganizationId
  );
}

function rowsOf({ rows }: KnownPrincipal): SessionRows {
  if (rows === undefined) throw new Error("A principal without rows cannot be asked for.");
  return rows;
}
