/** Flags declared in code beside those that are stored: says where the two have drifted apart. */
import { type FlagDeclaration, type FlagDeclarations, fitsDeclaration } from "../model/declared.ts";
import type { FeatureFlag } from "../model/flag.ts";
import { MAX_PAGE_LIMIT } from "../model/page.ts";
import type { Service } from "./service.ts";

/** As many as a log should hold. */
const MAX_NAMED = 50;

/** Lets a script that makes the flags do so, and the first request be answered. */
const DELAY_MS = 1_000;

/** Looks in the background, a moment later, and warns of what it finds. */
export function checkDeclaredFlags(service: Service, declared: FlagDeclarations): void {
  const timer = setTimeout(() => void check(service, declared), DELAY_MS);
  // Only Node and Bun have it, and only there does a timer keep the process alive.
  if (typeof timer === "object") timer.unref();
}

async function check(service: Service, declared: FlagDeclarations): Promise<void> {
  try {
    const drifts = findDrifts(declared, await findStored(service));
    if (drifts.length === 0) return;
    const named = drifts.slice(0, MAX_NAMED).map((drift) => `\n  - ${drift}`);
    const rest = drifts.length > MAX_NAMED ? `\n  and ${drifts.length - MAX_NAMED} more` : "";
    service.warnOnce(`Declared and stored flags differ:${named.join("")}${rest}`);
  } catch {
    // Whoever needs the database finds out by themselves; there is only nothing to compare with.
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

/** A sentence for each. A key may be stored several times, once per organization. */
function findDrifts(declared: FlagDeclarations, stored: readonly FeatureFlag[]): string[] {
  const byKey = new Map<string, FeatureFlag[]>();
  for (const flag of stored) byKey.set(flag.key, [...(byKey.get(flag.key) ?? []), flag]);
  return Object.entries(declared).flatMap(([key, declaration]) => {
    const flags = byKey.get(key);
    if (flags === undefined) return [`${key} is declared, but there is no such flag`];
    return [...new Set(flags.flatMap((flag) => driftsOf(declaration, flag)))].map(
      (drift) => `${key} ${drift}`,
    );
  });
}

function driftsOf(declaration: FlagDeclaration, flag: FeatureFlag): string[] {
  const { type, defaultValue, variants = [] } = flag;
  if (type !== declaration.type) return [`is declared as ${declaration.type}, but stored as ${type}`];
  const drifts: string[] = [];
  const values = [defaultValue, ...variants.map(({ value }) => value)];
  for (const value of values) {
    if (value !== undefined && !fitsDeclaration(declaration, value))
      drifts.push(`has the value ${JSON.stringify(value)}, which is not declared`);
  }
  const known = declaration.variants;
  if (known === undefined) return drifts;
  const keys = variants.map((variant) => variant.key);
  for (const key of keys)
    if (!known.includes(key)) drifts.push(`has the variant ${key}, which is not declared`);
  for (const key of known)
    if (!keys.includes(key)) drifts.push(`is declared with the variant ${key}, which it has not`);
  return drifts;
}
