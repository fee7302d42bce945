import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Middleware as AnyMiddleware } from "./context.ts";
import { runChain as run } from "./middleware.ts";
import { pendingOf } from "./pending.ts";

const ctx = {} as never;

function runChain(
  chain: readonly AnyMiddleware[],
  context: never,
  handle: () => unknown,
  failed: (error: unknown) => void = (error) => expect.unreachable(String(error)),
): Promise<unknown> | undefined {
  return run(chain, context, { handle, failed, resolved: () => undefined });
}

/** Middleware that records when it is entered and left. */
function noted(log: string[], name: string, wait: boolean): AnyMiddleware {
  if (!wait) {
    return (_, next) => {
      log.push(`> ${name}`);
      const rest = next();
      log.push(`< ${name}`);
      return rest;
    };
  }
  return async (_, next) => {
    await Promise.resolve();
    log.push(`> ${name}`);
    await next();
    log.push(`< ${name}`);
  };
}

describe("a chain of middleware", () => {
  test("runs in order around the handler, with any of them asynchronous", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { maxLength: 6 }),
        fc.boolean(),
        async (waits, handlerWaits) => {
          const log: string[] = [];
          const chain = waits.map((wait, i) => noted(log, String(i), wait));
          await runChain(chain, ctx, () => {
            log.push("handler");
            return handlerWaits ? Promise.resolve() : undefined;
          });
          const names = waits.map((_, i) => String(i));
          const starts = log.filter((entry) => !entry.startsWith("<"));
          expect(starts).toEqual([...names.map((name) => `> ${name}`), "handler"]);
          expect(log).toHaveLength(2 * names.length + 1);
          // Middleware that awaits the inner part is left after it.
          const asyncNames = names.filter((_, i) => waits[i]);
          const leaves = log.filter((entry) => asyncNames.some((name) => entry === `< ${name}`));
          expect(leaves).toEqual([...asyncNames].reverse().map((name) => `< ${name}`));
        },
      ),
    );
  });

  test("stays synchronous while nothing in it is asynchronous", () => {
    const log: string[] = [];
    const chain = [noted(log, "a", false), noted(log, "b", false)];
    expect(runChain(chain, ctx, () => log.push("handler"))).toBeUndefined();
    expect(log).toEqual(["> a", "> b", "handler", "< b", "< a"]);
  });

  test("sees the work of a synchronous handler done after await next()", async () => {
    const log: string[] = [];
    await runChain([noted(log, "a", true)], ctx, () => log.push("handler"));
    expect(log).toEqual(["> a", "handler", "< a"]);
  });

  test("runs nothing inside without next()", async () => {
    const log: string[] = [];
    await runChain([() => undefined, noted(log, "b", false)], ctx, () => log.push("handler"));
    expect(log).toEqual([]);
  });

  test("rejects a second next() and runs nothing again", async () => {
    let runs = 0;
    const twice: AnyMiddleware = async (_, next) => {
      await next();
      await next();
    };
    const failures: unknown[] = [];
    const running = runChain(
      [twice],
      ctx,
      () => runs++,
      (error) => failures.push(error),
    );
    await expect(running).rejects.toThrow("twice");
    expect(runs).toBe(1);
    expect(failures).toMatchObject([{ message: expect.stringContaining("twice") }]);
  });

  test("passes an error of the handler to each middleware through next(), from the inside out", async () => {
    const seen: string[] = [];
    const catcher =
      (name: string): AnyMiddleware =>
      async (_, next) => {
        try {
          await next();
        } catch (error) {
          seen.push(`${name}: ${(error as Error).message}`);
          throw error;
        }
      };
    const failing = runChain([catcher("a"), catcher("b")], ctx, () => {
      throw new Error("broken");
    });
    await expect(failing).rejects.toThrow("broken");
    expect(seen).toEqual(["b: broken", "a: broken"]);
  });

  test("may turn a failure into success", async () => {
    const forgiving: AnyMiddleware = (_, next) => next().catch(() => undefined);
    await expect(
      runChain([forgiving], ctx, () => {
        throw new Error("broken");
      }),
    ).resolves.toBeUndefined();
  });

  test("throws a synchronous error of a middleware to the caller", () => {
    const broken: AnyMiddleware = () => {
      throw new Error("at once");
    };
    expect(() => runChain([broken], ctx, () => undefined)).toThrow("at once");
  });

  test("treats anything with then() as pending, and nothing else", async () => {
    const method = "then";
    const having = (then: unknown) => Object.fromEntries([[method, then]]);
    for (const value of [undefined, null, 0, "then", {}, having(1), () => undefined])
      expect(pendingOf(value)).toBeUndefined();
    expect(await pendingOf(having((resolve: (value: number) => void) => resolve(7)))).toBe(7);
    const promise = Promise.resolve();
    expect(pendingOf(promise)).toBe(promise);
  });

  test.each([
    [
      "synchronously",
      () => {
        throw new Error("boom");
      },
    ],
    ["later", () => Promise.reject(new Error("boom"))],
  ])(
    "loses no failure behind a next() that was not returned, when the handler fails %s",
    async (_, handle) => {
      const forgetful: AnyMiddleware = (_ctx, next) => {
        void next();
      };
      await expect(runChain([forgetful], ctx, handle)).rejects.toThrow("boom");
    },
  );

  test.each([
    ["and ends at once", () => undefined],
    ["and awaits something else", () => new Promise((resolve) => setImmediate(resolve))],
  ])(
    "loses no failure behind a next() that an asynchronous middleware does not await %s",
    async (_, work) => {
      const forgetful: AnyMiddleware = async (_ctx, next) => {
        void next();
        await work();
      };
      const failing = [
        () => {
          throw new Error("boom");
        },
        () => Promise.reject(new Error("boom")),
        () => new Promise((_resolve, reject) => setImmediate(() => reject(new Error("boom")))),
      ];
      for (const handle of failing) {
        await expect(runChain([forgetful], ctx, handle)).rejects.toThrow("boom");
        await expect(runChain([forgetful, noted([], "inner", true)], ctx, handle)).rejects.toThrow("boom");
      }
    },
  );

  test("ends no earlier than its handler, although an asynchronous middleware does not await next()", async () => {
    const forgetful: AnyMiddleware = async (_ctx, next) => void next();
    const log: string[] = [];
    await runChain([forgetful], ctx, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      log.push("handled");
    });
    expect(log).toEqual(["handled"]);
  });

  test("loses no failure behind a next() that is called after its asynchronous middleware has ended", async () => {
    const failures: unknown[] = [];
    let late: (() => Promise<void>) | undefined;
    const runsLate: AnyMiddleware = async (_ctx, next) => {
      late = next;
    };
    await runChain(
      [runsLate],
      ctx,
      () => Promise.reject(new Error("boom")),
      (error) => failures.push(error),
    );
    await late?.().catch(() => undefined);
    expect(failures).toMatchObject([{ message: "boom" }]);
  });

  test("loses no failure behind a next() that is called after its middleware has returned", async () => {
    const failures: unknown[] = [];
    let late: (() => Promise<void>) | undefined;
    const runsLate: AnyMiddleware = (_ctx, next) => {
      late = next;
    };
    expect(
      runChain(
        [runsLate],
        ctx,
        () => Promise.reject(new Error("boom")),
        (error) => failures.push(error),
      ),
    ).toBeUndefined();
    await late?.().catch(() => undefined);
    expect(failures).toMatchObject([{ message: "boom" }]);
  });
});
