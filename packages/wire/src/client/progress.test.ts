import { expect, test, vi } from "vitest";
import { listeners } from "./listeners.ts";
import { withProgress } from "./progress.ts";

function request() {
  const progress = listeners<[data: unknown]>((error) => {
    throw error;
  });
  let [resolve, reject]: [(value: string) => void, (error: Error) => void] = [
    () => undefined,
    () => undefined,
  ];
  const promise = new Promise<string>((yes, no) => {
    [resolve, reject] = [yes, no];
  });
  const cancel = vi.fn(() => reject(new Error("cancelled")));
  return { promise: withProgress(promise, progress, cancel), news: progress.emit, resolve, reject, cancel };
}

async function readAll(source: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const data of source) all.push(data);
  return all;
}

test("an iteration receives all updates since it began, also those before the first read", async () => {
  const { promise, news, resolve } = request();
  news("too early");
  const iterator = promise[Symbol.asyncIterator]();
  news(1);
  news(2);
  resolve("done");
  expect(await readAll({ [Symbol.asyncIterator]: () => iterator })).toEqual([1, 2]);
  expect(await promise).toBe("done");
});

test("two iterations of one request each receive all updates", async () => {
  const { promise, news, resolve } = request();
  const [first, second] = [readAll(promise), readAll(promise)];
  news(1);
  await Promise.resolve();
  news(2);
  resolve("done");
  expect(await Promise.all([first, second])).toEqual([
    [1, 2],
    [1, 2],
  ]);
});

test("an iteration throws the request's error after the updates before it", async () => {
  const { promise, news, reject } = request();
  const seen: unknown[] = [];
  const reading = (async () => {
    for await (const data of promise) seen.push(data);
  })();
  news(1);
  reject(new Error("no"));
  await expect(reading).rejects.toThrow("no");
  expect(seen).toEqual([1]);
});

test("an iteration of a settled request ends immediately", async () => {
  const { promise, resolve } = request();
  resolve("done");
  await promise;
  expect(await readAll(promise)).toEqual([]);
});

test("leaving an iteration early cancels the request, and finishing it does not", async () => {
  const left = request();
  left.news("too early");
  const leaving = (async () => {
    for await (const _data of left.promise) break;
  })();
  left.news(1);
  await leaving;
  expect(left.cancel).toHaveBeenCalledOnce();
  await expect(left.promise).rejects.toThrow("cancelled");
  const finished = request();
  const reading = readAll(finished.promise);
  finished.resolve("done");
  await reading;
  expect(finished.cancel).not.toHaveBeenCalled();
});
