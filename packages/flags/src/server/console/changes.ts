/** What the console reads about changes: the revision of the flags, and the audit log with names. */
import * as z from "zod";
import type { AuditEntry } from "../../model/audit.ts";
import { line, parse } from "../../model/inputs.ts";
import { parseAuditQuery } from "../../model/list-query.ts";
import { admitToTenant, admitToTenants, findListedFlag } from "../access/admission.ts";
import type { GuardedCall } from "../call.ts";
import { secretsOf } from "../evaluation/exposure-tokens.ts";
import { readBody } from "../http/body-limit.ts";
import type { ConsoleOperation } from "./definition.ts";
import { namesOf } from "./names.ts";
import { organizationIn } from "./people.ts";
import { createWatchTokens, WATCH_MS } from "./watch-token.ts";

const revisionInput = z.strictObject({ organizationId: line.optional(), watch: z.boolean().optional() });

export const revision: ConsoleOperation<"revision"> = {
  action: "read",
  async run(call) {
    const { service, request, identity } = call;
    const { tenant } = await admitToTenant(call, organizationIn(call));
    const { watch = false } = parse(revisionInput, readBody(call) ?? {});
    const { snapshot } = await service.store.snapshot(tenant);
    const caller = await identity.administrator();
    if (!watch || caller.kind !== "user") return { revision: snapshot.revision };
    const grant = { tenant, userId: caller.user.id, untilMs: Date.now() + WATCH_MS };
    return {
      revision: snapshot.revision,
      watchToken: createWatchTokens(secretsOf(request.context)).sign(grant),
    };
  },
};

const noInput = z.strictObject({});

/** Names of users are shown only for those whose changes the caller may read. */
export const log: ConsoleOperation<"log"> = {
  action: "audit",
  async run(call) {
    const tenants = await admitToTenants(call);
    parse(noInput, readBody(call) ?? {});
    const query = await findListedFlag(call, parseAuditQuery(call.request.query));
    const entries = await call.service.store.listAudit(tenants, query);
    return { entries, names: await namesIn(call, entries) };
  },
};

function namesIn(
  { request }: GuardedCall,
  entries: readonly AuditEntry[],
): Promise<Readonly<Record<string, string>>> {
  const ids = new Set<string>();
  for (const { actor, impersonatedBy } of entries) {
    if (actor.type === "user") ids.add(actor.id);
    if (impersonatedBy !== undefined) ids.add(impersonatedBy);
  }
  return namesOf(request.context, ids);
}
