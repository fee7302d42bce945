/** The event log on the tables of the option `postgres`. One statement writes a group of queued events. */
import { RETRY_MS } from "@halyard/base";
import { FeatureFlagError } from "../../../model/errors.ts";
import {
  isBroken,
  isUnstorable,
  lostToAnother,
  type PostgresPool,
  type PostgresRow,
  runQuery,
  storageError,
} from "../../postgres/pool.ts";
import { sleep } from "../../wait.ts";
import type { EventLog } from "../event-log.ts";
import { type Group, Outcomes, type StoredKey } from "../group.ts";
import { KEY_LIFE_MS, SUBJECT_STEP_MS } from "../limits.ts";
import { createEventLog, type EventLogOptions } from "../log.ts";
import type { EventStorage } from "../storage.ts";
import { createPostgresFigures } from "./figures.ts";
import { parametersOf } from "./parameters.ts";
import {
  COUNT,
  EXPOSE,
  FOLDED_ENTRIES,
  foldStatement,
  KEEP_ANSWERS,
  LINK,
  LOOK_UP,
  recordStatement,
  STATEMENT_TIMEOUT_MS,
  type Statement,
  WAITING_SINCE,
} from "./statements.ts";
import { forgetFlag, sweepPostgres } from "./sweep.ts";

export interface PostgresEventLogOptions extends EventLogOptions {
  readonly pool: PostgresPool;
  /** Names of the sinks that get the stored events. */
  readonly outbox?: readonly string[] | undefined;
  readonly refusal?: EventStorage["refusal"] | undefined;
}

/** Groups that are written at the same time. More would only wait for each other's locks. */
const MAX_PARALLEL = 4;
const MAX_GROUP_ROWS = 1000;
/** Attempts after broken connections, and after rollbacks because of concurrent statements. */
const MAX_BROKEN = 3;
const MAX_ROLLED_BACK = 20;
const RETRY_STEP_MS = 5;
const FOLD_TIMEOUT_MS = 30_000;

export function createPostgresEventLog(options: PostgresEventLogOptions): EventLog {
  const { pool, outbox = [], refusal, nowMs = Date.now, monotonicMs = () => performance.now() } = options;
  const hasSinks = outbox.length > 0;
  const first = recordStatement({ isRepeated: false, hasSinks });
  const repeated = recordStatement({ isRepeated: true, hasSinks });
  const sinks = hasSinks ? [[...outbox]] : [];
  const figures = createPostgresFigures(pool);
  let restUntilMs = Number.NEGATIVE_INFINITY;

  const ask = (statement: Statement, values: unknown[], timeoutMs = STATEMENT_TIMEOUT_MS) =>
    runQuery(pool, timeoutMs, { ...statement, values });

  /** Retries after rollbacks because of concurrent statements, and after broken connections, whose outcome is unknown. */
  async function persist(work: (isRepeated: boolean) => Promise<PostgresRow[]>): Promise<PostgresRow[]> {
    let broken = 0;
    for (let rolledBack = 0; ; ) {
      const restMs = restUntilMs - monotonicMs();
      if (restMs > 0) await sleep(restMs);
      try {
        return await work(broken > 0);
      } catch (error) {
        if (isBroken(error)) {
          // No request opens another connection before.
          restUntilMs = monotonicMs() + RETRY_MS;
          broken += 1;
          if (broken === MAX_BROKEN) throw error;
        } else {
          rolledBack += 1;
          if (!lostToAnother(error) || rolledBack === MAX_ROLLED_BACK) throw error;
          await sleep(Math.random() * rolledBack * RETRY_STEP_MS);
        }
      }
    }
  }

  async function insert(group: Group): Promise<Outcomes> {
    const now = nowMs();
    const times = [now, now - KEY_LIFE_MS].map((ms) => new Date(ms).toISOString());
    const values = [...parametersOf(group), ...times, ...sinks];
    const before = await persist((isRepeated) => ask(isRepeated ? repeated : first, values));
    const outcomes = new Outcomes(group, await lookUp(before.map((row) => String(row["key_hash"]))));
    const answers = outcomes.isAllNew ? [] : outcomes.answersToKeep();
    if (answers.length > 0) {
      const keys = answers.map(({ key }) => key);
      const texts = answers.map(({ answer }) => answer);
      await persist(() => ask(KEEP_ANSWERS, [keys, texts]));
    }
    return outcomes;
  }

  async function lookUp(keys: readonly string[]): Promise<Map<string, StoredKey | undefined>> {
    const storedKeys = new Map<string, StoredKey | undefined>();
    if (keys.length === 0) return storedKeys;
    for (const key of keys) storedKeys.set(withoutDashes(key), undefined);
    for (const row of await persist(() => ask(LOOK_UP, [keys]))) {
      const { key_hash, body_hash, event_id, answer } = row;
      storedKeys.set(withoutDashes(String(key_hash)), {
        bodyHash: withoutDashes(String(body_hash)),
        eventId: typeof event_id === "string" ? event_id : "",
        answer: typeof answer === "string" ? answer : null,
      });
    }
    return storedKeys;
  }

  /** Wraps errors of PostgreSQL as STORAGE_ERROR. */
  async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw storageError(error);
    }
  }

  const write = (statement: Statement, values: unknown[]) =>
    guarded(async () => void (await persist(() => ask(statement, values))));

  const storage: EventStorage = {
    maxGroupRows: MAX_GROUP_ROWS,
    // At most half of the pool, to leave connections for the application.
    maxParallel: Math.max(1, Math.min(MAX_PARALLEL, Math.floor((pool.options.max ?? 2) / 2))),
    writesDirectly: async () => false,
    insertGroup: (group) => guarded(() => insert(group)),
    mayConcernOne: (error) => isUnstorable(error instanceof FeatureFlagError ? error.cause : error),
    fold: (waits) =>
      guarded(async () => {
        const [row] = await persist(() => ask(foldStatement(waits), [SUBJECT_STEP_MS], FOLD_TIMEOUT_MS));
        return Number(row?.["entries"] ?? 0) === FOLDED_ENTRIES;
      }),
    waitingSince: () =>
      guarded(async () => {
        const [row] = await ask(WAITING_SINCE, []);
        return typeof row?.["ms"] === "number" ? row["ms"] : undefined;
      }),
    async expose(exposures) {
      if (exposures.length === 0) return;
      await write(EXPOSE, [
        exposures.map(({ tenant }) => tenant),
        exposures.map(({ flagId }) => flagId),
        exposures.map(({ arm }) => arm),
        exposures.map(({ byChance }) => byChance),
        exposures.map(({ subject }) => subject ?? null),
        exposures.map(({ userId }) => userId ?? null),
        exposures.map(({ anonymousId }) => anonymousId ?? null),
        exposures.map(({ firstMs }) => new Date(firstMs).toISOString()),
        exposures.map(({ lastMs }) => new Date(lastMs).toISOString()),
        exposures.map(({ environment }) => environment ?? ""),
        SUBJECT_STEP_MS,
      ]);
    },
    async link(links) {
      if (links.length === 0) return;
      await write(LINK, [
        links.map(({ anonymousId }) => anonymousId),
        links.map(({ userId }) => userId),
        links.map(({ atMs }) => new Date(atMs).toISOString()),
      ]);
    },
    async count(all, id = crypto.randomUUID()) {
      // A flag that does not exist has no roll-up.
      const counts = all.filter(({ reason }) => reason !== "not_found");
      if (counts.length === 0) return;
      await write(COUNT, [
        counts.map(({ tenant }) => tenant),
        counts.map(({ flagId }) => flagId),
        counts.map(({ hour }) => hour),
        counts.map(({ reason }) => reason),
        counts.map(({ count }) => count),
        id,
        new Date(nowMs()).toISOString(),
      ]);
    },

    flagFigures: (...about) => guarded(() => figures.ofFlag(...about)),
    summaries: (...about) => guarded(() => figures.summaries(...about)),
    hourlyEvaluations: (...about) => guarded(() => figures.hourlyEvaluations(...about)),
    usageFigures: (...about) => guarded(() => figures.usage(...about)),
    activity: (...about) => guarded(() => figures.activity(...about)),
    armActivity: (...about) => guarded(() => figures.armActivity(...about)),

    forget: (flagId) => guarded(() => forgetFlag(pool, flagId)),
    deleteOld: (atMs, retention) => guarded(() => sweepPostgres(pool, atMs, retention)),
    ...(refusal && { refusal: () => guarded(refusal) }),
  };
  return createEventLog(storage, options);
}

function withoutDashes(uuid: string): string {
  return uuid.replaceAll("-", "");
}
