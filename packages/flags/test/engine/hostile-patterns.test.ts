import {
  checkConditions,
  checkReferences,
  compileFlag,
  type FlagDefinition,
  type RuleConditions,
} from "@halyard/flags/engine";
import { sized } from "@halyard/services";
import { describe, expect, test } from "vitest";
import { createRandom, type Random, seedOfRun } from "./random.ts";

const PATTERNS = sized(5_000, 500);
const MAX_CPU_MS = 5;
/** The fastest of several runs, because garbage collection and compilation slow down some of them. */
const REPEATS = 3;
/** CPU milliseconds of `work` on an idle machine. */
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
/** Patterns known from attacks on other regular expression engines. */
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

/** With `OR`, so that a pattern that does not match is followed by the next one. */
function conditionsOf(patterns: readonly string[]): RuleConditions {
  const conditions = patterns.map((value) => ({ attribute: "x", operator: "regex" as const, value }));
  return { operator: "OR", conditions };
}

function flagWith(patterns: readonly string[]): FlagDefinition {
  const conditions = conditionsOf(patterns);
  const rules = [{ id: "r", enabled: true, salt: "s", value: true, conditions }];
  return { key: "k", type: "boolean", enabled: true, rules };
}

/** CPU milliseconds of the whole process for one evaluation: the minimum of several runs. */
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

/** A fixed amount of computation and memory use. */
function work(): number {
  const list: { value: number }[] = [];
  let sum = 0;
  for (let index = 0; index < 40_000; index++) {
    list.push({ value: index });
    sum = (sum + (list[(index * 31) % list.length]?.value ?? 0)) | 0;
  }
  return sum;
}

/** The limit, scaled by the load of the machine: on a busy machine everything takes more CPU time. */
function limitNow(): number {
  return MAX_CPU_MS * Math.max(1, cost(work) / WORK_CPU_MS);
}

describe("hostile patterns", () => {
  test(`${PATTERNS} hostile patterns are each rejected by validation or evaluated within 5 ms of CPU time`, () => {
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
    /** Patterns that fit into one flag. */
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
    // The test proves nothing if validation rejects every pattern.
    expect(accepted).toBeGreaterThan(PATTERNS / 3);
  }, 60_000);
});

/** Runs until V8 has compiled the loops, so that the measurement excludes the start of the process. */
function warmUp(random: Random): void {
  for (let turn = 0; turn < 20; turn++) work();
  for (const hostile of KNOWN) {
    const flag = compileFlag(flagWith([hostile]), new Map());
    for (let turn = 0; turn < 20; turn++) flag.evaluate({ attributes: { x: input(random) } });
  }
}
