/** The contract of the store. Every database runs this suite. */
import { afterAll, beforeAll, describe } from "vitest";
import { describeAudit } from "./audit.ts";
import { describeChangeCounter } from "./change-counter.ts";
import { describeDrafts } from "./drafts.ts";
import { describeFlags, type StoreTraits } from "./flags.ts";
import { describeGlobalKeys } from "./global-keys.ts";
import { describeLists } from "./lists.ts";
import { describeOffValues } from "./off-values.ts";
import { describeOverrides } from "./overrides.ts";
import { describeRules } from "./rules.ts";
import { describeSnapshots } from "./snapshots.ts";
import { type DatabaseKind, openStoreHost, type StoreHost } from "./store-host.ts";
import { describeWrites } from "./writes.ts";

export function describeStore(databaseName: string, kind: DatabaseKind, traits: StoreTraits): void {
  describe(`flags on ${databaseName}`, () => {
    let host: StoreHost;
    beforeAll(async () => {
      host = await openStoreHost(kind);
    });
    afterAll(() => host?.close());
    describeFlags(() => host, traits);
    describeOffValues(() => host);
    describeGlobalKeys(() => host);
    describeRules(() => host);
    describeOverrides(() => host);
    describeLists(() => host);
    describeDrafts(() => host);
    describeWrites(() => host, traits);
    describeAudit(() => host);
    describeSnapshots(() => host);
    describeChangeCounter(() => host);
  });
}
