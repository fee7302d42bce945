import {
  checkConditions,
  checkReferences,
  compileFlag,
  type FlagDefinition,
  type RuleConditions,
} from "@halyard/flags/engine";
import { describe, expect, test } from "vitest";
import { createRandom, type Random, seedOfRun } from "./random.ts";

const PATTERNS = 5_000;
const MAX_CPU_MS = 5;
/** What a garbage collection or a compilation adds is not there every time. */
const REPEATS = 3;
/** CPU milliseconds of `work` on a machine with nothing else to do. */
const WORK_CPU_MS = 1;

const ATOMS = [
  "a",
  "b",
  ".",
  "[ab]",
  "[^a]",
  "\\w",
  "\\W",
  "\\d",
  "\\s",
  "\\b",
  "\\B",
  "\\pL",
  "\\PL",
  "[[:alpha:]]",
];
const QUANTIFIERS = [
  "*",
  "+",
  "?",
  "*?",
  "+?",
  "??",
  "{2,}",
  "{0,9}",
  "{3}",
  "{20}",
  "{0,60}",
  "{200}",
  "{1,1000}",
];
/** The ones known from attacks on other engines. */
const KNOWN = [
  "^(a+)+$",
  "(a|a)*b",
  "(a|aa)+$",
  "(.*)*x",
  "^(([a-z])+.)+[A-Z]([a-z])+$",
  "(x+x+)+y",
  "(?:a?){120}a{120}",
  "(.*a){20}",
  "(a|b)*a(a|b){100}$",
  "^(?:(?:a*)*)*$",
  "(?i)(\\pL{20})+\\PL$",
  "(\\b\\w|.){80}$",
  "(?:[ab]|a?){120}$",
];

function pattern(random: Random, depth: number): string {
  if (depth === 0) return random.pick(ATOMS);
  const part = () => pattern(random, depth - 1);
  const quantified = () => `(${random.chance(0.5) ? "?:" : ""}${part()})${random.pick(QUANTIFIERS)}`;
  switch (random.below(5)) {
    case 0:
      return part() + part();
    case 1:
      return `(?:${part()}|${part()}|${random.chance(0.3) ? "" : part()})`;
    case 2:
      return `${random.pick(ATOMS)}${random.pick(QUANTIFIERS)}${quantified()}`;
    default:
      return quantified();
  }
}

function input(random: Random): string {
  const letters = random.pick(["a", "ab", "aab!", "xyz_ 1", "aé中", "😀a"]);
  const symbols = [...letters];
  let text = "";
  while (text.length < 255) text += random.pick(symbols);
  return text.slice(0, 255) + random.pick(["!", "a", "b"]);
}

/** With `OR`, so that each pattern that does not match leads to the next. */
function conditionsOf(patterns: readonly string[]): RuleConditions {
  const conditions = patterns.map((value) => ({ attribute: "x", operator: "regex" as const, value }));
  return { operator: "OR", conditions };
}

function flagWith(patterns: readonly string[]): FlagDefinition {
  const conditions = conditionsOf(patterns);
  const rules = [{ id: "r", enabled: true, salt: "s", value: true, conditions }];
  return { key: "k", type: "boolean", enabled: true, rules };
}

/** CPU milliseconds of the whole process for one evaluation, the least of some. */
function cost(evaluate: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < REPEATS && least > MAX_CPU_MS / 20; turn++) {
    const before = process.cpuUsage();
    evaluate();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

/** Always the same, in processor and memory. */
function work(): number {
  const list: { value: number }[] = [];
  let sum = 0;
  for (let index = 0; index < 40_000; index++) {
    list.push({ value: index });
    sum = (sum + (list[(index * 31) % list.length]?.value ?? 0)) | 0;
  }
  return sum;
}

/** The limit where others use the same processor: everything takes longer then, in CPU time too. */
function limitNow(): number {
  return MAX_CPU_MS * Math.max(1, cost(work) / WORK_CPU_MS);
}

describe("hostile patterns", () => {
  test("5,000 of them are refused at write or take no evaluation over 5 ms of CPU", () => {
    const seed = seedOfRun();
    const random = createRandom(seed);
    warmUp(random);
    const expectQuick = (patterns: readonly string[]): void => {
      const flag = compileFlag(flagWith(patterns), new Map());
      const context = { attributes: { x: input(random) } };
      const cpuMs = cost(() => flag.evaluate(context));
      if (cpuMs > MAX_CPU_MS && cpuMs > limitNow())
        expect.unreachable(`${cpuMs} ms, seed ${seed}: ${JSON.stringify(patterns)}`);
    };
    let accepted = 0;
    /** Patterns that one flag may have together. */
    let together: string[] = [];
    for (let tried = 0; tried < PATTERNS; tried++) {
      const hostile = KNOWN[tried] ?? pattern(random, 2 + random.below(3));
      const conditions = conditionsOf([hostile]);
      if ("problem" in checkConditions(conditions)) continue;
      accepted += 1;
      expectQuick([hostile]);
      if (checkReferences([conditionsOf([...together, hostile])], new Map()) !== undefined) {
        expectQuick(together);
        together = [];
      }
      together.push(hostile);
    }
    // Patterns that are all refused would prove nothing.
    expect(accepted).toBeGreaterThan(PATTERNS / 3);
  }, 60_000);
});

/** Until the engine's loops are compiled: what a cold process takes is not the pattern's doing. */
function warmUp(random: Random): void {
  for (let turn = 0; turn < 20; turn++) work();
  for (const hostile of KNOWN) {
    const flag = compileFlag(flagWith([hostile]), new Map());
    for (let turn = 0; turn < 20; turn++) flag.evaluate({ attributes: { x: input(random) } });
  }
}
