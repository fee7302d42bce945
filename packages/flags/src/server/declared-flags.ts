/** Compares the flags declared in code with the stored flags, and logs the differences. */
import { later } from "@halyard/base";
import type { FlagDeclaration, FlagDeclarations } from "../model/declared.ts";
import { findMisfit } from "../model/declared-shape.ts";
import type { FeatureFlag } from "../model/flag.ts";
import { MAX_PAGE_LIMIT } from "../model/page.ts";
import type { Service } from "./service.ts";

/** Most differences that one log entry names. */
const MAX_NAMED = 50;

/** Gives a script time to create the flags, and does not delay the first request. */
const DELAY_MS = 1_000;

/** Compares in the background after a delay of 1 s. */
export function checkDeclaredFlags(service: Service, declared: FlagDeclarations): void {
  later(() => void check(service, declared), DELAY_MS);
}

async function check(service: Service, declared: FlagDeclarations): Promise<void> {
  try {
    const drifts = findDrifts(declared, await findStored(service));
    if (drifts.length === 0) return;
    const named = drifts.slice(0, MAX_NAMED).map((drift) => `\n  - ${drift}`);
    const rest = drifts.length > MAX_NAMED ? `\n  and ${drifts.length - MAX_NAMED} more` : "";
    service.warnOnce(
      `Declared and stored flags differ. Change the declaration or the stored flag:${named.join("")}${rest}`,
    );
  } catch {
    // Without the database there is nothing to compare. Requests report the failure.
  }
}

async function findStored({ store }: Service): Promise<FeatureFlag[]> {
  const stored: FeatureFlag[] = [];
  for (let cursor: string | undefined, hasMore = true; hasMore; ) {
    const { flags, page } = await store.listFlags("all", {
      limit: MAX_PAGE_LIMIT,
      sort: "key",
      descending: false,
      ...(cursor !== undefined && { cursor }),
    });
    stored.push(...flags);
    cursor = page.nextCursor;
    hasMore = page.hasMore && cursor !== undefined;
  }
  return stored;
}

/** One sentence per difference. Several organizations may have a flag with the same key. */
function findDrifts(declared: FlagDeclarations, stored: readonly FeatureFlag[]): string[] {
  const byKey = new Map<string, FeatureFlag[]>();
  for (const flag of stored) byKey.set(flag.key, [...(byKey.get(flag.key) ?? []), flag]);
  return Object.entries(declared).flatMap(([key, declaration]) => {
    const flags = byKey.get(key);
    if (flags === undefined) return [`${key} is declared but does not exist`];
    return [...new Set(flags.flatMap((flag) => driftsOf(declaration, flag)))].map(
      (drift) => `${key} ${drift}`,
    );
  });
}

function driftsOf(declaration: FlagDeclaration, flag: FeatureFlag): string[] {
  const { type, defaultValue, offValue, environments = {}, variants = [] } = flag;
  if (type !== declaration.type) return [`is declared as ${declaration.type} but stored as ${type}`];
  const drifts: string[] = [];
  const settings = Object.values(environments);
  const values = [defaultValue, offValue, ...variants.map(({ value }) => value)];
  values.push(...settings.flatMap((one) => [one.defaultValue, one.offValue]));
  for (const value of values) {
    const misfit = value === undefined ? undefined : findMisfit(declaration, value);
    if (misfit !== undefined)
      drifts.push(`has the value ${JSON.stringify(value)}, which is not declared: value${misfit}`);
  }
  const declaredVariants = declaration.variants;
  if (declaredVariants === undefined) return drifts;
  const keys = variants.map((variant) => variant.key);
  for (const key of keys)
    if (!declaredVariants.includes(key)) drifts.push(`has the variant ${key}, which is not declared`);
  for (const key of declaredVariants)
    if (!keys.includes(key)) drifts.push(`is declared with the variant ${key}, which is not stored`);
  return drifts;
}
