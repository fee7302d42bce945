import { expect, test } from "vitest";
import type { AppendOptions, AppendResult, History } from "../../pubsub/history.ts";
import { LocalTopics } from "../../pubsub/local-topics.ts";
import { MemoryHistory } from "../../pubsub/memory-history.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import { CallLog, errorFrame, itemFrame, responseFrame } from "./call-log.ts";

const ALL = { last: 100, maxItems: 100, maxBytes: 1_000_000 };
const HEADER = { owner: "ann", type: "ASK", process: "p", start: "s" };
const INSTEAD = errorFrame({ code: "RESOURCE_EXHAUSTED" });
const LOST = errorFrame({ code: "UNAVAILABLE" });

const ignore = (): void => undefined;

/** A shared log whose broker can be away. */
function setup() {
  const clock = new FakeClock();
  const memory = new MemoryHistory(new LocalTopics(), 1_000_000, clock);
  const state = { isAway: false, appends: 0 };
  const history: History = {
    append(topic: string, frame: string, options: AppendOptions): AppendResult {
      state.appends++;
      if (state.isAway) return { ok: false, error: "DISCONNECTED", retryable: true };
      return memory.append(topic, frame, options);
    },
    read: (topic, options) => memory.read(topic, options),
    top: (topic) => memory.top(topic),
    delete: (topic) => memory.delete(topic),
  };
  const log = new CallLog(history, "call", 60_000, true, clock);
  const frames = () => memory.read("$d/call", ALL).items.map(({ frame }) => frame);
  return { clock, memory, state, log, frames };
}

test("the end of a call is written when the broker is away for a minute", async () => {
  const { clock, state, log, frames } = setup();
  await log.create(HEADER);
  await log.append(itemFrame(1), 1);
  state.isAway = true;
  const finished = log.finish(responseFrame("ok"), INSTEAD, LOST, ignore);
  await clock.advance(60_000);
  state.isAway = false;
  await clock.advance(1_000);
  await finished;
  expect(frames().slice(1)).toEqual(["i1", 'r"ok"']);
});

test("a reader that ends a call gives up after 5 s without the broker", async () => {
  const { clock, state, log } = setup();
  await log.create(HEADER);
  state.isAway = true;
  const ended = log.end(LOST).catch(({ code }: { code: string }) => code);
  await clock.advance(6_000);
  expect(await ended).toBe("UNAVAILABLE");
});

test("an end is not written into a log that has expired, because no reader can find it there", async () => {
  const { memory, log, frames } = setup();
  await log.create(HEADER);
  memory.delete("$d/call");
  await log.finish(responseFrame("ok"), INSTEAD, LOST, ignore);
  expect(frames()).toEqual([]);
});

test("items of a call are not written into a log that begins again", async () => {
  const { memory, log, frames } = setup();
  await log.create(HEADER);
  memory.delete("$d/call");
  await expect(log.append(itemFrame(1), 1)).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: false });
  expect(frames()).toEqual([]);
});
