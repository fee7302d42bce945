/** Compares the engine with the frozen bucketing vectors. Runs on every runtime. */
import { type CompiledFlag, compileFlag, type FlagDefinition, murmur3 } from "@halyard/flags/engine";
import vectors from "../golden/bucketing.json" with { type: "json" };
import { Generator } from "./generate.ts";
import { createRandom } from "./random.ts";

/** Some JSON parsers reject a lone surrogate, so an id with one is stored as UTF-16 code units. */
const ids = vectors.ids.map((id) => (typeof id === "string" ? id : String.fromCharCode(...id.utf16)));

export const golden = { ...vectors, ids };

const FLAGS = 1_000;
const CONTEXTS = 5;
const SEED = 20_261_115;

export interface Outcome {
  /** The number of vectors compared. */
  readonly checked: number;
  readonly failures: readonly string[];
  /** A hash of the results of many generated evaluations, to compare runtimes. */
  readonly digest: number;
}

export function runGolden(): Outcome {
  let checked = 0;
  const failures: string[] = [];
  const check = (what: string, actual: unknown, expected: unknown): void => {
    checked += 1;
    if (actual !== expected) failures.push(`${what}: ${String(actual)} instead of ${String(expected)}`);
  };
  for (const { key, rollout, variant, rule } of golden.hashes) {
    ids.forEach((id, index) => {
      check(`hash ${index} ${key}`, murmur3(`${id}:${key}`), rollout[index]);
      check(`hash ${index} ${key} variant`, murmur3(`${id}:${key}:variant`), variant[index]);
      check(`hash ${index} ${key} rule`, murmur3(`${id}:${key}:rule:s1`), rule[index]);
    });
  }
  for (const { key, percentage, in: members } of golden.rollouts) {
    const flag = compile({ key, rolloutPercentage: percentage });
    ids.forEach((userId, index) => {
      const { reason } = flag.evaluate({ userId });
      check(
        `rollout ${key} ${percentage} ${index}`,
        reason === "percentage_rollout",
        members.includes(index),
      );
    });
  }
  for (const { key, variants } of golden.variants) {
    const flag = compile({ key, variants: golden.variantsOf });
    ids.forEach((userId, index) => {
      check(`variant ${key} ${index}`, flag.evaluate({ userId }).variant, variants[index]);
    });
  }
  for (const { key, salt, percentage, in: members } of golden.rules) {
    const conditions = { conditions: [] };
    const flag = compile({
      key,
      rules: [{ id: "r", enabled: true, value: "r", conditions, salt, percentage }],
    });
    ids.forEach((userId, index) => {
      const matched = flag.evaluate({ userId }).reason === "rule_match";
      check(`rule ${salt} ${percentage} ${index}`, matched, members.includes(index));
    });
  }
  for (const { key, salt, percentage, in: members } of golden.salted) {
    const flag = compile({ key, salt, rolloutPercentage: percentage });
    ids.forEach((userId, index) => {
      const included = flag.evaluate({ userId }).reason === "percentage_rollout";
      check(`salt ${salt} ${index}`, included, members.includes(index));
    });
  }
  return { checked, failures, digest: digestOfMany() };
}

function compile(fields: Partial<FlagDefinition>): CompiledFlag {
  return compileFlag({ key: "k", type: "string", enabled: true, rules: [], ...fields }, new Map());
}

function digestOfMany(): number {
  const generator = new Generator(createRandom(SEED));
  let digest = 0;
  for (let index = 0; index < FLAGS; index++) {
    const { flag, segments } = generator.flag();
    const compiled = compileFlag(flag, segments);
    for (let turn = 0; turn < CONTEXTS; turn++) {
      const context = generator.context();
      const override = generator.override();
      const explained = compiled.explain(context, override);
      digest = murmur3(`${digest}${JSON.stringify([compiled.evaluate(context, override), explained])}`);
    }
  }
  return digest;
}
