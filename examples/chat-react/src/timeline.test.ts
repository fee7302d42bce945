import assert from "node:assert/strict";
import { test } from "node:test";
import { discarded, drafted, EMPTY, entered, failed, heard, type Timeline } from "./timeline.ts";

const line = (id: string, from = "bob") => ({ id, from, text: `text ${id}` });
const ids = ({ lines, drafts }: Timeline): [string, string] => [
  lines.map(({ id }) => id).join(" "),
  drafts.map(({ id, failure }) => (failure === undefined ? id : `${id}!`)).join(" "),
];

// `void`: the runner waits for its tests by itself.
void test("a line is shown once, however often it is heard; the same id of another sender is another line", () => {
  const timeline = [line("1"), line("1"), line("1", "ada"), line("2")].reduce(heard, EMPTY);
  assert.deepEqual(ids(timeline), ["1 1 2", ""]);
});

void test("what we said is below all others until it is heard", () => {
  const waiting = heard(drafted(EMPTY, line("mine", "ada")), line("1"));
  assert.deepEqual(ids(waiting), ["1", "mine"]);
  assert.deepEqual(ids(heard(waiting, line("mine", "ada"))), ["1 mine", ""]);
});

void test("coming back puts what was missed where it belongs, and keeps what the server has forgotten", () => {
  const before = [line("1"), line("2"), line("5")].reduce(heard, drafted(EMPTY, line("6")));
  const back = entered(before, [line("2"), line("3"), line("4"), line("5"), line("6")]);
  assert.deepEqual(ids(back), ["1 2 3 4 5 6", ""]);
  assert.deepEqual(ids(entered(back, [])), ["1 2 3 4 5 6", ""]);
});

void test("a failed line can be said again, at the end, or discarded; one that was heard has not failed", () => {
  const two = [line("1"), line("2")].reduce(drafted, EMPTY);
  const one = failed(two, line("1"), "Nobody answered.");
  assert.deepEqual(ids(one), ["", "1! 2"]);
  assert.deepEqual(ids(drafted(one, line("1"))), ["", "2 1"]);
  assert.deepEqual(ids(discarded(one, line("1"))), ["", "2"]);
  assert.deepEqual(ids(failed(heard(two, line("1")), line("1"), "Nobody answered.")), ["1", "2"]);
});
