/** Creates random flags through the API, and the contexts that they are evaluated for. */
import type { CreateFeatureFlagInput } from "@halyard/flags";
import type { EvaluationContext } from "@halyard/flags/engine";
import type { Generator } from "./engine/generate.ts";
import type { Host } from "./host.ts";

export interface Made {
  readonly id: string;
  readonly name: string;
}

/** Creates a segment of each name that generated flags use, a flag that shows each, and flags with generated rules. */
export async function createFlags(
  { auth: { api } }: Host,
  generator: Generator,
  count: number,
): Promise<Made[]> {
  const made: Made[] = [];
  // In reverse order, because a segment refers only to later ones.
  for (const [key, conditions] of [...generator.flag().segments].reverse()) {
    const usable = JSON.stringify(conditions).includes("\\ud800") ? { conditions: [] } : conditions;
    await api.createFeatureFlagSegment({ body: { key, conditions: usable } });
    const name = `uses-${key}`;
    const { id } = await api.createFeatureFlag({ body: { key: name, name, type: "boolean", enabled: true } });
    const rule = { priority: 1, conditions: { conditions: [{ segment: key }] }, value: true };
    await api.createFeatureFlagRule({ body: { flagId: id, ...rule } });
    made.push({ id, name });
  }
  while (made.length < count) {
    const { flag } = generator.flag();
    const { rules, ...fields } = flag;
    const name = `flag-${made.length}`;
    try {
      // The type of a generated flag is not known at compile time.
      const { id } = await api.createFeatureFlag({
        body: { ...fields, key: name, name } as CreateFeatureFlagInput,
      });
      made.push({ id, name });
      for (const [priority, { id: _id, salt: _salt, ...rule }] of rules.entries()) {
        await api.createFeatureFlagRule({ body: { flagId: id, priority, ...rule } });
      }
    } catch (error) {
      // Some generated flags are over a limit of writes.
      if (!(error instanceof Error && "statusCode" in error && error.statusCode === 400)) throw error;
    }
  }
  return made;
}

/** A generated context whose text survives JSON. */
export function claim(generator: Generator): Omit<EvaluationContext, "environment"> {
  const { environment: _environment, organizationId, ...others } = generator.context();
  // Segments are changed to compare this attribute with such a number.
  const a = [0, 1, 2, undefined][(JSON.stringify(others).length * 7) % 4];
  const context = a === undefined ? others : { ...others, attributes: { ...others.attributes, a } };
  const claimed = { ...context, ...(organizationId && { organizationId: organizationId.slice(0, 255) }) };
  return JSON.stringify(claimed).includes("\\ud800") ? claim(generator) : claimed;
}
