import { runWithTransaction } from "@better-auth/core/context";
import type { DBAdapter, DBTransactionAdapter } from "@better-auth/core/db/adapter";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createTransactions, retryLost } from "./transaction.ts";

afterEach(() => void vi.unstubAllGlobals());

/** An adapter whose first transaction does not end. */
function adapterThatHangsOnce(): { adapter: DBAdapter; transactions: () => number } {
  let begun = 0;
  const rows = {
    create: async () => ({}),
    findOne: async () => null,
  };
  const adapter = {
    ...rows,
    options: { adapterConfig: { transaction: true } },
    transaction(work: (tx: unknown) => Promise<unknown>) {
      begun += 1;
      return begun === 1 ? new Promise(() => {}) : work(rows);
    },
  };
  return { adapter: adapter as unknown as DBAdapter, transactions: () => begun };
}

test("on Workers, a proof whose request was ended blocks no other request", async () => {
  vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
  const { adapter, transactions } = adapterThatHangsOnce();
  const { prove, state } = createTransactions(adapter);
  void prove();
  await prove();
  expect(state()).toBe("ok");
  await prove();
  expect(transactions()).toBe(2);
});

test("elsewhere, concurrent callers share one proof", async () => {
  const { adapter, transactions } = adapterThatHangsOnce();
  const { prove, state } = createTransactions(adapter);
  for (let times = 0; times < 5; times++) void prove();
  await vi.waitFor(() => expect(transactions()).toBe(1));
  expect([transactions(), state()]).toEqual([1, "unproven"]);
});

/** An adapter whose transactions fail if another one has committed since they began, as with `serializable`. */
function adapterOfOneRow(): { adapter: DBAdapter; attempts: Map<unknown, number> } {
  let version = 0;
  const attempts = new Map<unknown, number>();
  const adapter = {
    async transaction(work: (tx: unknown) => Promise<unknown>) {
      const start = version;
      const writer = await work(adapter);
      attempts.set(writer, (attempts.get(writer) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (version !== start) throw Object.assign(new Error("could not serialize access"), { code: "40001" });
      version += 1;
      return writer;
    },
  };
  return { adapter: adapter as unknown as DBAdapter, attempts };
}

test("of a hundred writers who conflict with each other, each succeeds after a few attempts", async () => {
  const { adapter, attempts } = adapterOfOneRow();
  const { run } = createTransactions(adapter);
  const writers = Array.from({ length: 100 }, (_, writer) => writer);
  expect(await Promise.all(writers.map((writer) => run(async () => writer)))).toEqual(writers);
  expect(Math.max(...attempts.values())).toBeLessThan(12);
});

const OF_A_TENANT = { model: "featureFlagRevision", tenant: "acme", revision: 3 };

/** An adapter that keeps what a failed transaction has written. */
function adapterWithoutRollback(options?: object) {
  type Query = { model: string; where: { field: string; value: unknown }[] };
  type Row = Record<string, unknown>;
  const rows: Row[] = [OF_A_TENANT];
  const calls = { transactions: 0, created: [] as Row[], beforeCreate: async (): Promise<void> => {} };
  const isFound = ({ model, where }: Query, row: Row) =>
    row["model"] === model && where.every(({ field, value }) => row[field] === value);
  const adapter = {
    options,
    async create({ model, data }: { model: string; data: object }) {
      await calls.beforeCreate();
      rows.push({ model, ...data });
      calls.created.push({ model, ...data });
    },
    findOne: async (query: Query) => rows.find((row) => isFound(query, row)) ?? null,
    async delete(query: Query) {
      rows.splice(0, rows.length, ...rows.filter((row) => !isFound(query, row)));
    },
    transaction(work: (tx: unknown) => Promise<unknown>) {
      calls.transactions += 1;
      return work(adapter);
    },
  };
  return { adapter: adapter as unknown as DBAdapter, rows, calls };
}

describe("a proof", () => {
  test("that leaves its row behind refuses writes for good, with the remedy, and removes only that row", async () => {
    const { adapter, rows, calls } = adapterWithoutRollback();
    const { prove, state } = createTransactions(adapter);
    for (const refusal of ["Flags cannot be changed", "Events cannot be counted"]) {
      const proving = refusal.startsWith("Flags") ? prove() : prove(refusal);
      await expect(proving).rejects.toMatchObject({
        code: "STORAGE_ERROR",
        message: expect.stringMatching(`^${refusal}: this database set-up does not roll back`),
      });
    }
    expect([state(), rows, calls.transactions]).toEqual(["refused", [OF_A_TENANT], 1]);
    // Its row is of no tenant that could exist.
    const tenant = expect.stringMatching(/^rollback-proof-[0-9a-f-]{36}$/);
    const first = { tenant, revision: 0, auditHash: "", auditAt: null, counter: null, seq: null };
    expect(calls.created).toEqual([{ model: "featureFlagRevision", ...first }]);
  });

  test("writes nothing where the adapter says that it has no transactions", async () => {
    const { adapter, calls } = adapterWithoutRollback({ adapterConfig: { transaction: false } });
    const { prove, state } = createTransactions(adapter);
    await expect(prove()).rejects.toThrow("does not roll back a failed transaction");
    expect([state(), calls.transactions]).toEqual(["refused", 0]);
  });

  test("during an outage has no result, and the next one decides", async () => {
    const { adapter, calls } = adapterWithoutRollback();
    const { prove, state } = createTransactions(adapter);
    const down = new Error("the database is down");
    calls.beforeCreate = () => Promise.reject(down);
    await expect(prove()).rejects.toBe(down);
    expect(state()).toBe("unproven");
    calls.beforeCreate = async () => {};
    await expect(prove()).rejects.toThrow("does not roll back");
    expect(state()).toBe("refused");
  });

  test("is not made inside a transaction, which may wait for one that is under way", async () => {
    const { adapter, calls } = adapterWithoutRollback();
    const tx = { ...adapter } as unknown as DBTransactionAdapter;
    const inside = (prove: () => Promise<void>) =>
      runWithTransaction({ ...adapter, transaction: (work) => work(tx) }, prove);
    const alone = createTransactions(adapter);
    await expect(inside(alone.prove)).rejects.toMatchObject({
      code: "STORAGE_ERROR",
      message: expect.stringMatching(/^Flags cannot be changed inside another transaction before/),
    });
    expect(alone.state()).toBe("unproven");
    const shared = createTransactions(adapter);
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    calls.beforeCreate = () => answered;
    const outside = shared.prove();
    await vi.waitFor(() => expect(calls.transactions).toBe(1));
    const waiting = inside(shared.prove);
    answer();
    for (const proving of [outside, waiting]) await expect(proving).rejects.toThrow("does not roll back");
    expect(calls.transactions).toBe(1);
  });
});

/** An error of the database, as a query builder and an adapter wrap it. */
const wrapped = (times: number, fields: object): Error =>
  times === 0
    ? Object.assign(new Error("of the driver"), fields)
    : new Error("wrapped", { cause: wrapped(times - 1, fields) });

function wrappingItself(): Error {
  const error = new Error("wraps itself");
  return Object.assign(error, { cause: error });
}

test("work that loses more than a few times is repeated where no writer takes turns", async () => {
  const work = vi.fn(async () => "done");
  for (let at = 0; at < 5; at++) work.mockRejectedValueOnce(wrapped(0, { code: "40001" }));
  expect(await retryLost(work)).toBe("done");
  expect(work).toHaveBeenCalledTimes(6);
});

describe("a transaction", () => {
  const adapter = adapterWithoutRollback().adapter;
  const { run } = createTransactions(adapter);

  test.each([
    ["PostgreSQL, not serializable", wrapped(0, { code: "40001" })],
    ["PostgreSQL, deadlock", wrapped(1, { code: "40P01" })],
    ["PostgreSQL, a lock that was not free", wrapped(0, { code: "55P03" })],
    ["PostgreSQL, ended for being idle", wrapped(0, { code: "25P03" })],
    ["MariaDB, a lock that was not free", wrapped(1, { code: "ER_LOCK_WAIT_TIMEOUT" })],
    ["MySQL, deadlock", wrapped(4, { code: "ER_LOCK_DEADLOCK" })],
    ["MariaDB, changed record", wrapped(2, { code: "ER_CHECKREAD" })],
    ["SQLite, busy", wrapped(0, { code: "SQLITE_BUSY" })],
    ["node:sqlite, busy", wrapped(0, { code: "ERR_SQLITE_ERROR", errcode: 5 })],
    ["node:sqlite, busy with a snapshot", wrapped(1, { code: "ERR_SQLITE_ERROR", errcode: 517 })],
  ])("that lost to another one is repeated: %s", async (_name, error) => {
    const work = vi.fn(async () => "done").mockRejectedValueOnce(error);
    expect(await run(work)).toBe("done");
    expect(work).toHaveBeenCalledTimes(2);
  });

  test.each([
    ["a key that exists", wrapped(0, { code: "23505" })],
    ["node:sqlite, a full disk", wrapped(0, { code: "ERR_SQLITE_ERROR", errcode: 13 })],
    ["a number that is a text", wrapped(0, { errcode: "5" })],
    ["no code", new Error("of the caller")],
    ["no error", { code: "40001" }],
    ["an error that wraps itself", wrappingItself()],
  ])("that failed for another reason is not repeated: %s", async (_name, error) => {
    const work = vi.fn(async () => "done").mockRejectedValueOnce(error);
    await expect(run(work)).rejects.toBe(error);
    expect(work).toHaveBeenCalledTimes(1);
  });

  test("that always waits in vain is answered after ten seconds with the time to repeat it", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const errors: Error[] = [];
    const failing = run(async () => {
      errors.push(wrapped(0, { code: "55P03" }));
      throw errors.at(-1);
    }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(9000);
    const attempts = errors.length;
    await vi.advanceTimersByTimeAsync(2000);
    const refused = { code: "STORAGE_ERROR", status: 503, details: { retryAfter: 5 }, cause: errors.at(-1) };
    expect(await failing).toMatchObject(refused);
    expect([attempts > 20, errors.length > attempts]).toEqual([true, true]);
  });

  test("that always loses is answered after forty attempts with the time to repeat it", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    onTestFinished(() => void vi.restoreAllMocks());
    let attempts = 0;
    const failing = run(async () => {
      attempts += 1;
      throw wrapped(0, { code: "40001" });
    });
    await expect(failing).rejects.toMatchObject({ status: 503, details: { retryAfter: 5 } });
    expect(attempts).toBe(40);
  });

  test("inside one of the host is not repeated, for only the host can repeat its own", async () => {
    const tx = { ...adapter } as unknown as DBTransactionAdapter;
    const lost = wrapped(0, { code: "40001" });
    const work = vi.fn(async (_tx: unknown) => "done").mockRejectedValueOnce(lost);
    const inHost = () => runWithTransaction({ ...adapter, transaction: (open) => open(tx) }, () => run(work));
    await expect(inHost()).rejects.toBe(lost);
    expect(await inHost()).toBe("done");
    expect(work.mock.calls).toEqual([[tx], [tx]]);
  });

  test("that fails in its turn does not keep the next one from its own", async () => {
    const lost = wrapped(0, { code: "40001" });
    const worker = () => vi.fn(async () => "done");
    const [first, second] = [worker(), worker()];
    for (const each of [first, second]) for (let at = 0; at < 3; at++) each.mockRejectedValueOnce(lost);
    first.mockRejectedValueOnce(new Error("of the caller"));
    const results = await Promise.allSettled([run(first), run(second)]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  });

  /** Work that loses so many times before it is done. */
  function losing(times: number) {
    const work = vi.fn(async () => "done");
    for (let at = 0; at < times; at++) work.mockRejectedValueOnce(wrapped(0, { code: "40001" }));
    return work;
  }

  /** Two writers that lost equally often. The first then hangs until `release`; `running` is the run of the second. */
  async function besideOneThatHangs(times: number) {
    vi.spyOn(Math, "random").mockReturnValue(0);
    onTestFinished(() => void vi.restoreAllMocks());
    const transactions = createTransactions(adapter);
    const { promise, resolve } = Promise.withResolvers<string>();
    const hanging = losing(times).mockReturnValueOnce(promise);
    void transactions.run(hanging);
    await vi.waitFor(() => expect(hanging).toHaveBeenCalledTimes(times + 1));
    return { transactions, running: transactions.run(losing(times)), release: () => resolve("done") };
  }

  test.each([
    ["is new", 0, "Node"],
    ["lost twice", 2, "Node"],
    ["lost three times on Workers", 3, "Cloudflare-Workers"],
  ])("that %s waits for no other one", async (_name, times, userAgent) => {
    vi.stubGlobal("navigator", { userAgent });
    const { running } = await besideOneThatHangs(times);
    expect(await running).toBe("done");
  });

  test("that lost three times waits until it is its turn", async () => {
    const { transactions, running, release } = await besideOneThatHangs(3);
    let isDone = false;
    void running.then(() => (isDone = true));
    // These pause more often, one after the other, than the waiting one would have without turns.
    for (let at = 0; at < 3; at++) await transactions.run(losing(2));
    expect(isDone).toBe(false);
    release();
    expect(await running).toBe("done");
  });
});
