/** The steps of an evaluation on the server, for callers who may read flags. */
import type { JsonObject, JsonValue } from "@halyard/flags/client";
import { type ClientSeam, type EvaluationMetadata, NO_POSITION } from "@halyard/flags/unstable-devtools";
import { element } from "./dom.ts";
import { textOf } from "./shown-flag.ts";

const PATH = "/feature-flags/evaluate";
const TIMEOUT_MS = 5_000;
/** A flag may have more conditions than a person reads. */
const MAX_CONDITIONS = 100;

type Steps = NonNullable<EvaluationMetadata["trace"]>;

/** Asks the server why the flag has its value, and returns what to show. Never rejects. */
export async function explain({ transport, bodyOf }: ClientSeam, flagKey: string): Promise<HTMLElement> {
  const { context, environment } = bodyOf(NO_POSITION);
  const body = {
    flagKey,
    select: ["metadata"],
    debug: true,
    ...(context && { context }),
    ...(environment !== undefined && { environment }),
  };
  type Answer = { readonly metadata?: EvaluationMetadata } | null;
  const { data, error } = await transport.request<Answer>(PATH, { body, timeoutMs: TIMEOUT_MS });
  if (error) return note(`The server did not send the steps of the evaluation: ${error.message}`);
  const steps = data?.metadata?.trace;
  if (Array.isArray(steps)) return showSteps(steps);
  return note("To see each step of the evaluation, sign in as a user who may read this flag.");
}

function note(text: string): HTMLElement {
  return element("p", { class: "note" }, text);
}

function showSteps(steps: Steps): HTMLElement {
  let rules = 0;
  const items = steps.map(({ step, outcome, detail }, at) => {
    if (step === "rule") rules += 1;
    const decides = at === steps.length - 1;
    const conditions = listConditions(detail["conditions"]);
    return element(
      "li",
      { class: decides ? "step decides" : "step" },
      element("p", {}, describe(step, outcome, detail, rules)),
      conditions.length > 0 &&
        element("ul", { class: "conditions" }, ...conditions.slice(0, MAX_CONDITIONS).map(showCondition)),
      conditions.length > MAX_CONDITIONS && note(`${conditions.length - MAX_CONDITIONS} more conditions`),
    );
  });
  return element("ol", { class: "steps" }, ...items);
}

function describe(step: string, outcome: string, detail: JsonObject, rule: number): string {
  const place =
    detail["environment"] === undefined ? "" : ` in the environment ${textOf(detail["environment"])}`;
  const percentage = `${textOf(detail["percentage"])} %`;
  const bucket = typeof detail["bucket"] === "number" ? `bucket ${detail["bucket"].toFixed(2)}` : "bucket";
  const texts: Readonly<Record<string, string>> = {
    "enabled enabled": `The flag is on${place}.`,
    "enabled disabled": `The flag is off${place}, so its ${detail["source"]} applies.`,
    "override none": "The user has no override.",
    "override applied": "The user has an override.",
    "rule matched":
      detail["percentage"] === undefined
        ? `Rule ${rule} matches.`
        : `Rule ${rule} matches: ${bucket} is within its ${percentage}.`,
    "rule not_matched": `Rule ${rule} does not match.`,
    "rule outside_percentage": `Rule ${rule} does not apply: ${bucket} is outside its ${percentage}.`,
    "rule skipped": `Rule ${rule} is skipped: ${detail["why"]}.`,
    "rollout included": `The rollout of ${percentage} includes ${bucket}.`,
    "rollout excluded": `The rollout of ${percentage} does not include ${bucket}.`,
    "default default": "The default value applies.",
  };
  if (step === "variant") return `Variant ${textOf(outcome)}, by ${bucket}.`;
  const name = `${step} ${outcome}`;
  // A newer server may have other steps.
  return Object.hasOwn(texts, name) ? (texts[name] ?? name) : name;
}

interface Condition {
  readonly text: string;
  readonly holds: boolean;
}

/** The conditions of a rule in one list. Groups and segments become items of their own, before their conditions. */
function listConditions(trace: JsonValue | undefined, depth = 0): Condition[] {
  if (!isObject(trace) || depth > 20) return [];
  const holds = trace["holds"] === true;
  if (typeof trace["attribute"] === "string") {
    const actual = trace["actual"] === undefined ? "missing" : textOf(trace["actual"]);
    const text = `${trace["attribute"]} ${trace["operator"]} ${textOf(trace["expected"])}; it is ${actual}`;
    return [{ text, holds }];
  }
  const within = (part: JsonValue | undefined): Condition[] => listConditions(part, depth + 1);
  if (typeof trace["segment"] === "string")
    return [{ text: `segment ${trace["segment"]}`, holds }, ...within(trace["conditions"])];
  const members = trace["conditions"];
  const own = Array.isArray(members) ? members.flatMap(within) : [];
  const isAny = trace["operator"] === "OR" && own.length > 1;
  const excepted = isObject(trace["not"]) ? within(trace["not"]) : [];
  return [
    ...(isAny ? [{ text: "any of these", holds }] : []),
    ...own,
    ...(isObject(trace["not"]) ? [{ text: "except if", holds: trace["not"]["holds"] === true }] : []),
    ...excepted,
  ];
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function showCondition({ text, holds }: Condition): HTMLElement {
  return element(
    "li",
    { class: holds ? "holds" : "fails" },
    element("span", { class: "mark" }, holds ? "true" : "false"),
    element("code", {}, text),
  );
}
