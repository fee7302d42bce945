import { expect, test } from "vitest";
import { FollowedCall } from "./followed-call.ts";

const CHECK_MS = 100;

function follow() {
  let now = 0;
  const asked: number[] = [];
  const deaths: number[] = [];
  const call = new FollowedCall(
    "a",
    () => asked.push(now),
    () => deaths.push(now),
    now,
  );
  const pass = (ms: number) => {
    for (const end = now + ms; now < end; ) {
      now += CHECK_MS;
      call.check(now);
    }
  };
  return { call, asked, deaths, pass, doubt: () => call.doubt(now), restart: () => call.restart(now) };
}

test("a process that does not answer whether it runs the call is dead after 2 to 2.5 s, and its reader is told once", () => {
  const { call, asked, deaths, pass } = follow();
  expect(asked).toEqual([0]);
  pass(2_000);
  expect([call.isDead, asked.length]).toEqual([false, 5]);
  pass(500);
  expect(call.isDead).toBe(true);
  pass(10_000);
  call.gone();
  expect(deaths.length).toBe(1);
});

test("a process that has answered is not asked again, until messages may be missing", () => {
  const { call, asked, pass, doubt } = follow();
  call.confirm();
  pass(60_000);
  expect(asked).toEqual([0]);
  doubt();
  pass(250);
  expect(asked.length).toBe(2);
  pass(3_000);
  expect(call.isDead).toBe(false);
  pass(1_000);
  expect(call.isDead).toBe(true);
});

test("a process that runs the call lives until its end is noticed", () => {
  const { call, deaths, pass } = follow();
  call.confirm();
  pass(60_000);
  expect(deaths).toEqual([]);
  call.gone();
  expect([call.isDead, deaths.length]).toEqual([true, 1]);
});

test("time without a broker is no silence", () => {
  const { call, pass, restart } = follow();
  for (let i = 0; i < 10; i++) {
    pass(1_500);
    restart();
  }
  expect(call.isDead).toBe(false);
});

test("a process whose answer waited while this one was busy is not dead", () => {
  const { call, pass } = follow();
  // The first check after the pause runs before the sockets are read.
  call.check(20_000);
  call.confirm();
  pass(10_000);
  expect(call.isDead).toBe(false);
});
