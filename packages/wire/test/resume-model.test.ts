/**
 * The protocol of resume as a model, searched exhaustively: every order of publishes, joins, reads, and frames under
 * way, with a crash, a cut, a lost reply or a restart of the broker at any time.
 */
import { describe, expect, test } from "vitest";
import type { Mutant, Settings } from "./fixtures/resume/protocol.ts";
import { search } from "./fixtures/resume/search.ts";

const ONE: Settings = { values: 3, clients: 1, faults: 2, size: 3 };
/** With a third message in the long suites. */
const TWO: Settings = { values: 2, clients: 2, faults: 1, size: 2 };

/** Each with the search that finds it. */
const MUTANTS: Readonly<Record<Mutant, Settings>> = {
  "the store is read before the subscription is confirmed": ONE,
  "live frames are sent before the backlog": ONE,
  "live frames are dropped while the store is read": ONE,
  "a restored subscription is not followed by a read": ONE,
  "a read that began before the subscription was restored is used": ONE,
  "a hole in the live frames is passed on": ONE,
  "a page that lacks frames is sent as if it were complete": { ...ONE, size: 1 },
  "joined names the newest position before the backlog is sent": ONE,
  "joined names the position behind a gap": { ...ONE, size: 1 },
  "after a gap, frames of the earlier epoch are sent again": ONE,
  "a broker that restarted keeps its epoch": ONE,
  "positions are compared without the epoch": ONE,
  "a position in an empty history continues on another server": ONE,
  "a position in an empty history continues in a later epoch of the log": ONE,
  "a repeated append is a new frame": ONE,
  "the client takes no position from joined": ONE,
};

describe("resume on a channel with history", () => {
  test("two clients get every message once and in order, or a gap in its place, whatever fails once", () => {
    const { violation, worlds, ends } = search(TWO);
    expect(violation).toBeUndefined();
    expect(worlds).toBeGreaterThan(10_000);
    expect(ends).toBeGreaterThan(100);
  });

  test("one client gets every message once and in order, or a gap in its place, whatever fails twice", () => {
    const { violation, worlds } = search(ONE);
    expect(violation).toBeUndefined();
    expect(worlds).toBeGreaterThan(10_000);
  });

  test("the same when the history keeps fewer messages than are published", () => {
    expect(search({ ...ONE, size: 1 }).violation).toBeUndefined();
  });

  test.each(Object.entries(MUTANTS))("the search finds that %s", (mutant, settings) => {
    const { violation } = search({ ...settings, mutant: mutant as Mutant });
    expect(violation).toEqual(expect.stringContaining("client 0 was given"));
  });
});
