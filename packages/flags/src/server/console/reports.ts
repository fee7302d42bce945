/** What the console reads about the past: evaluations over time, and the audit log for verification and for a file. */
import * as z from "zod";
import type { EvaluationReason } from "../../engine/definition.ts";
import { line, name, parse, text } from "../../model/inputs.ts";
import { MAX_PAGE_LIMIT } from "../../model/page.ts";
import { parseWindow } from "../../model/stats-query.ts";
import type { ActivityScope } from "../../store/events/event-log.ts";
import { DAY_MS, HOUR_MS, hourOf, hourStart } from "../../store/events/hour.ts";
import { admitToEntity, admitToTenant } from "../access/admission.ts";
import type { GuardedCall } from "../call.ts";
import { readBody } from "../http/body-limit.ts";
import { figureWindow, writeCounts } from "../operations/figures.ts";
import type { ConsoleOperation } from "./definition.ts";
import { organizationIn } from "./people.ts";

const activityInput = z.strictObject({
  flagId: name.optional(),
  organizationId: line.optional(),
  start: text.optional(),
  end: text.optional(),
});

export const activity: ConsoleOperation<"activity"> = {
  action: "read",
  async run(call) {
    const { service } = call;
    const about = await activityScope(call);
    const { start, end } = parse(activityInput, readBody(call));
    const window = parseWindow({ ...(start && { start }), ...(end && { end }) }, Date.now());
    await writeCounts(service);
    const figures = figureWindow(window);
    const isOfFlag = about !== "all" && "flagId" in about;
    const [counts, arms] = await Promise.all([
      service.events.activity(about, figures),
      isOfFlag ? service.events.armActivity(about.flagId, figures) : [],
    ]);
    const hours = new Map<string, HourCounts>();
    const hourOf = (at: string): HourCounts => {
      const found = hours.get(at) ?? { byReason: {}, byVariant: new Map() };
      hours.set(at, found);
      return found;
    };
    for (const { hour, reason, count } of counts) {
      const { byReason } = hourOf(hour);
      byReason[reason] = (byReason[reason] ?? 0) + count;
    }
    for (const { hour, arm, count } of arms) hourOf(hour).byVariant.set(arm, count);
    return {
      window,
      hours: Array.from(hours, ([at, { byReason, byVariant }]) => ({
        at,
        byReason,
        ...(isOfFlag && { byVariant: Object.fromEntries(byVariant) }),
      })).sort((a, b) => (a.at < b.at ? -1 : 1)),
    };
  },
};

interface HourCounts {
  readonly byReason: Partial<Record<EvaluationReason, number>>;
  readonly byVariant: Map<string, number>;
}

async function activityScope(call: GuardedCall): Promise<ActivityScope> {
  const { body } = call.request;
  const flagId: unknown = typeof body === "object" && body !== null ? body["flagId"] : undefined;
  if (typeof flagId !== "string") return { tenant: (await admitToTenant(call, organizationIn(call))).tenant };
  const { id } = await admitToEntity(call, "flag", () => flagId);
  return { flagId: id };
}

const evaluationsInput = z.strictObject({
  flagIds: z.array(name).min(1).max(MAX_PAGE_LIMIT),
  organizationId: line.optional(),
});

/** For the lines in a list of flags: one request for all of them. */
export const evaluations: ConsoleOperation<"evaluations"> = {
  action: "read",
  async run(call) {
    const { service } = call;
    const { tenant } = await admitToTenant(call, organizationIn(call));
    const { flagIds } = parse(evaluationsInput, readBody(call));
    await writeCounts(service);
    const endMs = hourStart(Date.now()) + HOUR_MS;
    const window = { startMs: endMs - DAY_MS, endMs };
    const counts = await service.events.hourlyEvaluations(tenant, flagIds, window);
    const hours = Array.from({ length: DAY_MS / HOUR_MS }, (_, at) => hourOf(window.startMs + at * HOUR_MS));
    return {
      window: { start: new Date(window.startMs).toISOString(), end: new Date(endMs).toISOString() },
      byFlag: Object.fromEntries(
        Array.from(counts, ([flagId, byHour]) => [flagId, hours.map((hour) => byHour.get(hour) ?? 0)]),
      ),
    };
  },
};

const verifyInput = z.strictObject({ organizationId: line.optional() });

export const verifyAudit: ConsoleOperation<"verify-audit"> = {
  action: "audit",
  async run(call) {
    const { tenant } = await admitToTenant(call, organizationIn(call));
    parse(verifyInput, readBody(call));
    return call.service.store.verifyAudit(tenant);
  },
};

const exportInput = z.strictObject({
  organizationId: line.optional(),
  after: z.number().int().min(0).optional(),
});

export const exportAudit: ConsoleOperation<"export-audit"> = {
  action: "audit",
  async run(call) {
    const { tenant } = await admitToTenant(call, organizationIn(call));
    const { after = 0 } = parse(exportInput, readBody(call));
    const entries = await call.service.store.readAudit(tenant, { after, limit: MAX_PAGE_LIMIT });
    const last = entries.at(-1);
    const isLast = last === undefined || entries.length < MAX_PAGE_LIMIT;
    return { entries, ...(!isLast && { next: last.revision }) };
  },
};
