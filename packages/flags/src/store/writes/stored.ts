/**
 * The entities that a change starts from. This process usually has those of the locked revision in memory; then reading
 * them takes no round trip, for which other writers of the tenant would wait. Else they are read from their rows. Callers
 * get copies, because an entity that does not change is the answer of its write.
 */
import type { Segments } from "../../engine/definition.ts";
import type { FeatureFlag } from "../../model/flag.ts";
import type { FlagRule } from "../../model/rule.ts";
import type { FlagSegment } from "../../model/segment.ts";
import { copyOf, type EntityName, notFound } from "../rows/entity.ts";
import { readFlag } from "../rows/flags.ts";
import { byOrder, readRules } from "../rows/rules.ts";
import { readSegment, readSegments } from "../rows/segments.ts";
import type { WriteContext } from "./write.ts";

function found<Entity>(name: EntityName, entity: Entity | undefined): Entity {
  if (entity === undefined) throw notFound(name);
  return entity;
}

type Source = Pick<WriteContext, "tx" | "tenant" | "contents">;

export async function storedFlag({ tx, tenant, contents }: Source, flagId: string): Promise<FeatureFlag> {
  if (contents === undefined) return readFlag(tx, tenant, flagId);
  return copyOf(found("flag", contents.flags.get(flagId)));
}

/** In evaluation order. */
export async function storedRules({ tx, tenant, contents }: Source, flagId: string): Promise<FlagRule[]> {
  if (contents === undefined) return readRules(tx, tenant, flagId);
  return [...(contents.rules.get(flagId)?.values() ?? [])].map(copyOf).sort(byOrder);
}

export async function storedRule(source: Source, flagId: string, ruleId: string): Promise<FlagRule> {
  const rules = await storedRules(source, flagId);
  return found(
    "rule",
    rules.find(({ id }) => id === ruleId),
  );
}

export async function storedSegment({ tx, tenant, contents }: Source, id: string): Promise<FlagSegment> {
  if (contents === undefined) return readSegment(tx, tenant, id);
  return copyOf(found("segment", contents.segments.get(id)));
}

/** The conditions of all segments, by key. */
export async function storedSegments({ tx, tenant, contents }: Source): Promise<Segments> {
  if (contents === undefined) return readSegments(tx, tenant);
  return new Map([...contents.segments.values()].map(({ key, conditions }) => [key, conditions]));
}
