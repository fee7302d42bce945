/** The warnings about a flag after a write. */
import { idleSwitches } from "../../engine/idle-switches.ts";
import type { JsonValue } from "../../engine/json.ts";
import type { FeatureFlag } from "../../model/flag.ts";
import type { FlagRule } from "../../model/rule.ts";
import type { FlagWarning, WithWarnings } from "../../model/warning.ts";
import { toFlagDefinition } from "./definition.ts";

/** Characters of a value that a message repeats. */
const MAX_SHOWN = 80;

/** The result of a write that leaves this flag with these rules, in evaluation order. */
export function withWarnings<Entity extends object>(
  entity: Entity,
  flag: FeatureFlag,
  rules: readonly FlagRule[],
): WithWarnings<Entity> {
  const warnings = idleSwitches(toFlagDefinition(flag, rules)).map(({ environment, value }): FlagWarning => {
    const where =
      environment === undefined
        ? "changes nothing"
        : `changes nothing in the environment "${shorten(environment)}"`;
    const message =
      `Turning the flag "${flag.key}" off ${where}: it answers ${shown(value)} on and off. ` +
      "Set offValue to the value that the disabled flag must answer, or add a rule, a rollout or variants.";
    return { code: "OFF_CHANGES_NOTHING", message };
  });
  return warnings.length === 0 ? entity : { ...entity, warnings };
}

function shown(value: JsonValue): string {
  return shorten(JSON.stringify(value));
}

function shorten(text: string): string {
  // By code points, so that no surrogate pair is split.
  return text.length <= MAX_SHOWN ? text : `${[...text.slice(0, MAX_SHOWN)].slice(0, -1).join("")}…`;
}
