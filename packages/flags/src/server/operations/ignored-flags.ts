/** Lists the flags of organizations that evaluation ignores, for health. */
import { within } from "@halyard/base";
import { NO_TENANT } from "../../model/flag.ts";
import type { FlagStore, IgnoredFlag, Snapshot } from "../../store/flag-store.ts";
import { ignoredKeys, reservedKeys } from "../evaluation/tenant-flags.ts";
import type { Service } from "../service.ts";

const MAX_LISTED = 100;
/** Health has no rate limit, so the database is not read for every request. */
const KEEP_MS = 10_000;
/** The longest that health waits for the list. */
const WAIT_MS = 1000;

interface Kept {
  /** The global flags that the list was made for. */
  readonly global: Snapshot;
  readonly atMs: number;
  readonly flags: readonly IgnoredFlag[];
}

const kept = new WeakMap<FlagStore, Kept>();

/** The ignored flags of an organization, or of all of them. Undefined without `multiTenant`, or if they cannot be read. */
export async function listIgnoredFlags(
  { store, options }: Service,
  tenant: string,
): Promise<readonly IgnoredFlag[] | undefined> {
  if (options.multiTenant !== true) return undefined;
  const listing = tenant === NO_TENANT ? ofAll(store) : ofOne(store, tenant);
  return within(listing, WAIT_MS, "The ignored flags were not read in time.").catch(() => undefined);
}

async function ofOne(store: FlagStore, tenant: string): Promise<readonly IgnoredFlag[]> {
  const [{ snapshot }, { snapshot: global }] = await Promise.all([
    store.snapshot(tenant),
    store.snapshot(NO_TENANT),
  ]);
  const keys = ignoredKeys(snapshot, global).slice(0, MAX_LISTED);
  return keys.map((key) => ({ organizationId: tenant, key }));
}

/** Only results are kept, not reads: on Workers a request cannot wait for the read of another one. */
async function ofAll(store: FlagStore): Promise<readonly IgnoredFlag[]> {
  const { snapshot: global } = await store.snapshot(NO_TENANT);
  const last = kept.get(store);
  const atMs = performance.now();
  if (last !== undefined && last.global === global && atMs - last.atMs < KEEP_MS) return last.flags;
  const flags = await store.findFlagsOfOrganizations(reservedKeys(global), MAX_LISTED);
  kept.set(store, { global, atMs, flags });
  return flags;
}
