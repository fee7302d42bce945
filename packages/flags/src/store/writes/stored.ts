/**
 * The entities that a change starts from. This process usually has those of the locked revision in memory; then reading
 * them takes no round trip, for which other writers of the tenant would wait. Else they are read from their rows.
 */
import type { Segments } from "../../engine/definition.ts";
import type { FeatureFlag } from "../../model/flag.ts";
import type { FlagRule } from "../../model/rule.ts";
import type { FlagSegment } from "../../model/segment.ts";
import { notFound } from "../rows/entity.ts";
import { readFlag } from "../rows/flags.ts";
import { byOrder, readRule, readRules } from "../rows/rules.ts";
import { readSegment, readSegments } from "../rows/segments.ts";
import type { WriteContext } from "./write.ts";

type Source = Pick<WriteContext, "tx" | "tenant" | "contents">;

export async function storedFlag({ tx, tenant, contents }: Source, flagId: string): Promise<FeatureFlag> {
  if (contents === undefined) return readFlag(tx, tenant, flagId);
  const flag = contents.flags.get(flagId);
  if (flag === undefined) throw notFound("flag");
  return flag;
}

/** In evaluation order. */
export async function storedRules({ tx, tenant, contents }: Source, flagId: string): Promise<FlagRule[]> {
  if (contents === undefined) return readRules(tx, tenant, flagId);
  return [...(contents.rules.get(flagId)?.values() ?? [])].sort(byOrder);
}

export async function storedRule(source: Source, flagId: string, ruleId: string): Promise<FlagRule> {
  const { tx, tenant, contents } = source;
  if (contents === undefined) return readRule(tx, tenant, flagId, ruleId);
  const rule = contents.rules.get(flagId)?.get(ruleId);
  if (rule === undefined) throw notFound("rule");
  return rule;
}

export async function storedSegment({ tx, tenant, contents }: Source, id: string): Promise<FlagSegment> {
  if (contents === undefined) return readSegment(tx, tenant, id);
  const segment = contents.segments.get(id);
  if (segment === undefined) throw notFound("segment");
  return segment;
}

/** The conditions of all segments, by key. */
export async function storedSegments({ tx, tenant, contents }: Source): Promise<Segments> {
  if (contents === undefined) return readSegments(tx, tenant);
  return new Map([...contents.segments.values()].map(({ key, conditions }) => [key, conditions]));
}
