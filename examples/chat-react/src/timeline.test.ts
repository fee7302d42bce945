import assert from "node:assert/strict";
import { test } from "node:test";
import { delivered, discarded, drafted, EMPTY, failed, type Timeline } from "./timeline.ts";

const line = (id: string, from = "bob") => ({ id, from, text: `text ${id}` });
const ids = ({ lines, drafts }: Timeline): [string, string] => [
  lines.map(({ id }) => id).join(" "),
  drafts.map(({ id, failure }) => (failure === undefined ? id : `${id}!`)).join(" "),
];

// `void`: the test runner waits for its tests.
void test("a line is shown once, however often it arrives, and the same id of another sender is another line", () => {
  const timeline = [line("1"), line("1"), line("1", "ada"), line("2")].reduce(delivered, EMPTY);
  assert.deepEqual(ids(timeline), ["1 1 2", ""]);
});

void test("an unsent line is below all others until the server delivers it", () => {
  const waiting = delivered(drafted(EMPTY, line("mine", "ada")), line("1"));
  assert.deepEqual(ids(waiting), ["1", "mine"]);
  assert.deepEqual(ids(delivered(waiting, line("mine", "ada"))), ["1 mine", ""]);
});

void test("a failed line can be sent again, at the end, or discarded, and a delivered line has not failed", () => {
  const two = [line("1"), line("2")].reduce(drafted, EMPTY);
  const one = failed(two, line("1"), "No response.");
  assert.deepEqual(ids(one), ["", "1! 2"]);
  assert.deepEqual(ids(drafted(one, line("1"))), ["", "2 1"]);
  assert.deepEqual(ids(discarded(one, line("1"))), ["", "2"]);
  assert.deepEqual(ids(failed(delivered(two, line("1")), line("1"), "No response.")), ["1", "2"]);
});
