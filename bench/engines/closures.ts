/**
 * A hand-written implementation of these flags: rules as JSON, compiled to closures over dotted paths, a map of flags,
 * a result object, and the published hash of `userId:key`.
 */
import { COUNTRY, type Engine, keys, LOGINS, PLANS, SHARE, users } from "./workload.ts";

type Json = string | number | readonly string[];
type Rule = {
  readonly operator?: string;
  readonly conditions?: readonly Rule[];
  readonly not?: Rule;
  readonly attribute?: string;
  readonly value?: Json;
};
type Context = { readonly userId: string; readonly attributes: Readonly<Record<string, unknown>> };
type Bag = Readonly<Record<string, unknown>>;
type Test = (context: Context) => boolean;

const RULE: Rule = {
  operator: "AND",
  conditions: [
    { attribute: "attributes.plan", operator: "in", value: PLANS },
    {
      operator: "OR",
      conditions: [
        { attribute: "attributes.country", operator: "equals", value: COUNTRY },
        { attribute: "attributes.loginCount", operator: "greater_than", value: LOGINS },
      ],
    },
  ],
};
const THRESHOLD = (SHARE / 100) * 2 ** 32;

export function start(): Engine {
  const contexts: Context[] = users.map(({ id, plan, country, loginCount }) => ({
    userId: id,
    attributes: { plan, country, loginCount },
  }));
  const flags = new Map(
    keys.map((key) => {
      const matches = compile(JSON.parse(JSON.stringify(RULE)));
      const suffix = `:${key}`;
      const on = { value: true, variant: undefined, reason: "rule_match", metadata: { ruleId: key } };
      const off = { value: false, variant: undefined, reason: "default", metadata: undefined };
      const evaluate = (context: Context) =>
        matches(context) && murmur3(context.userId + suffix) < THRESHOLD ? on : off;
      return [key, evaluate];
    }),
  );
  return {
    keys,
    isOn: (flag, user) => flags.get(keys[flag] as string)?.(contexts[user] as Context).value === true,
  };
}

function compile(rule: Rule): Test {
  if (rule.conditions !== undefined) return compileGroup(rule, rule.conditions.map(compile));
  const read = compilePath(rule.attribute ?? "");
  const { value } = rule;
  switch (rule.operator) {
    case "in": {
      const set = new Set<unknown>(value as readonly string[]);
      return (context) => set.has(read(context));
    }
    case "equals":
      return (context) => read(context) === value;
    default:
      return (context) => {
        const actual = read(context);
        return typeof actual === "number" && actual > (value as number);
      };
  }
}

function compileGroup(rule: Rule, tests: readonly Test[]): Test {
  const not = rule.not === undefined ? undefined : compile(rule.not);
  const group = rule.operator === "OR" ? anyOf(tests) : allOf(tests);
  return not === undefined ? group : (context) => group(context) && !not(context);
}

function allOf(tests: readonly Test[]): Test {
  const [first, second] = tests;
  if (first !== undefined && second !== undefined && tests.length === 2) {
    return (context) => first(context) && second(context);
  }
  return (context) => tests.every((test) => test(context));
}

function anyOf(tests: readonly Test[]): Test {
  const [first, second] = tests;
  if (first !== undefined && second !== undefined && tests.length === 2) {
    return (context) => first(context) || second(context);
  }
  return (context) => tests.some((test) => test(context));
}

function compilePath(path: string): (context: Context) => unknown {
  const [root = "", name = "", ...further] = path.split(".");
  if (further.length > 0) throw new Error(`Only paths with two segments are supported, not ${path}.`);
  return (context) => {
    const bag = (context as unknown as Bag)[root] as Bag | undefined;
    return bag === undefined ? undefined : bag[name];
  };
}

/** MurmurHash3, 32 bits, of text in ASCII. */
function murmur3(text: string): number {
  const { length } = text;
  const end = length & ~3;
  let hash = 0;
  let index = 0;
  for (; index < end; index += 4) {
    const word =
      text.charCodeAt(index) |
      (text.charCodeAt(index + 1) << 8) |
      (text.charCodeAt(index + 2) << 16) |
      (text.charCodeAt(index + 3) << 24);
    hash ^= scramble(word);
    hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
  }
  const rest = length & 3;
  let word = 0;
  if (rest === 3) word ^= text.charCodeAt(index + 2) << 16;
  if (rest >= 2) word ^= text.charCodeAt(index + 1) << 8;
  if (rest >= 1) hash ^= scramble(word ^ text.charCodeAt(index));
  hash ^= length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function scramble(word: number): number {
  const product = Math.imul(word, 0xcc9e2d51);
  return Math.imul((product << 15) | (product >>> 17), 0x1b873593);
}
