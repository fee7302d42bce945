/** The people of the console: users found by name or email, and every flag of one of them. */
import * as z from "zod";
import type { TrustedRoot } from "../../engine/definition.ts";
import type { ConsoleAnswers, Person, PersonFlag } from "../../model/console.ts";
import { FeatureFlagError } from "../../model/errors.ts";
import { NO_TENANT } from "../../model/flag.ts";
import { line, name, parse } from "../../model/inputs.ts";
import { MAX_PAGE_LIMIT } from "../../model/page.ts";
import { admitToTenant } from "../access/admission.ts";
import { judge } from "../access/permission.ts";
import type { GuardedCall } from "../call.ts";
import { layersOf } from "../evaluation/flags.ts";
import type { FlagLayer } from "../evaluation/layer.ts";
import { readBody } from "../http/body-limit.ts";
import { type HostUser, HostUsers } from "../impact/host-users.ts";
import { Population } from "../impact/population.ts";
import type { ConsoleOperation } from "./definition.ts";

const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 100;
/** Fields of the user's row that a person shows. */
const SHOWN: readonly string[] = ["image", "createdAt"];

const peopleInput = z.strictObject({
  q: line.optional(),
  organizationId: line.optional(),
  limit: z.number().int().min(1).max(MAX_LIMIT).optional(),
  cursor: name.optional(),
});

export const people: ConsoleOperation<"people"> = {
  action: "evaluate-as",
  async run(call): Promise<ConsoleAnswers["people"]> {
    const { tenant } = await admitToTenant(call, organizationIn(call));
    const { q = "", limit = DEFAULT_LIMIT, cursor } = parse(peopleInput, readBody(call));
    const users = new HostUsers(call.request.context, tenant, SHOWN);
    const { users: found, nextCursor } = await users.search(q.trim(), limit, cursor);
    return { people: found.map(personOf), ...(nextCursor !== undefined && { nextCursor }) };
  },
};

const personInput = z.strictObject({
  userId: name,
  organizationId: line.optional(),
  environment: name.optional(),
});

export const person: ConsoleOperation<"person"> = {
  action: "evaluate-as",
  async run(call): Promise<ConsoleAnswers["person"]> {
    const { service, request } = call;
    const { tenant } = await admitToTenant(call, organizationIn(call));
    const { userId, environment = service.options.environments?.default } = parse(
      personInput,
      readBody(call),
    );
    const layers = await layersFor(call, tenant);
    const roots = new Set<TrustedRoot>();
    for (const { snapshot } of layers) {
      for (const { compiled } of snapshot.flags.values())
        for (const root of compiled.trustedRoots) roots.add(root);
    }
    const population = new Population(service, request.context, {
      tenant,
      environment,
      roots,
      fields: SHOWN,
    });
    const found = await population.find(userId);
    if (found === undefined) {
      throw new FeatureFlagError("FLAG_NOT_FOUND", "There is no such user here. Check the id.", {
        details: { entity: "user" },
      });
    }
    const overrides = await overridesOf(call, layers, userId);
    const flags = new Map<string, PersonFlag>();
    const nowMs = Date.now();
    for (const { tenant: owner, snapshot } of layers) {
      for (const [key, { flag, compiled }] of snapshot.flags) {
        if (flags.has(key)) continue;
        const override = snapshot.override(flag.id, userId, nowMs);
        const { result, isGuess } = population.contexts.observe(() =>
          compiled.evaluate(found.context, override),
        );
        const overrideId = overrides.get(flag.id);
        flags.set(key, {
          id: flag.id,
          key,
          name: flag.name,
          type: flag.type,
          ...(owner !== NO_TENANT && { organizationId: owner }),
          value: result.value,
          ...(result.variant !== undefined && { variant: result.variant }),
          reason: result.reason,
          ...(isGuess && { unknown: true as const }),
          ...(overrideId !== undefined && { overrideId }),
        });
      }
    }
    return {
      person: personOf(found.user),
      flags: [...flags.values()].sort((a, b) => (a.key < b.key ? -1 : 1)),
    };
  },
};

/** Read before the body is validated, because permission comes first. */
export function organizationIn({ request }: GuardedCall): string | undefined {
  const { body } = request;
  const given: unknown = typeof body === "object" && body !== null ? body["organizationId"] : undefined;
  return typeof given === "string" ? given : undefined;
}

/** The organization's flags, and the global ones if the caller may evaluate those as another user. */
async function layersFor(call: GuardedCall, tenant: string): Promise<readonly FlagLayer[]> {
  const { store } = call.service;
  const global: FlagLayer = { tenant: NO_TENANT, snapshot: (await store.snapshot(NO_TENANT)).snapshot };
  if (tenant === NO_TENANT) return [global];
  const ofTenant: FlagLayer = { tenant, snapshot: (await store.snapshot(tenant)).snapshot };
  const [own] = layersOf(ofTenant, global);
  const caller = await call.identity.administrator();
  const seesGlobal = (await judge(call, caller, "evaluate-as", NO_TENANT)) === "granted";
  return seesGlobal ? [own, global] : [own];
}

/** The ids of the user's overrides, by flag. */
async function overridesOf(
  { service }: GuardedCall,
  layers: readonly FlagLayer[],
  userId: string,
): Promise<ReadonlyMap<string, string>> {
  const pages = await Promise.all(
    layers.map(({ tenant }) =>
      service.store.listOverrides(
        { tenant },
        { userId, limit: MAX_PAGE_LIMIT, sort: "createdAt", descending: true },
      ),
    ),
  );
  return new Map(pages.flatMap(({ overrides }) => overrides.map(({ flagId, id }) => [flagId, id] as const)));
}

function personOf({ id, name: called, email, role, organizationRole, row }: HostUser): Person {
  const { image, createdAt } = row;
  return {
    id,
    name: called,
    email,
    ...(typeof image === "string" && { image }),
    ...(role !== undefined && { role }),
    ...(organizationRole !== undefined && { organizationRole }),
    createdAt: createdAt instanceof Date ? createdAt.toISOString() : String(createdAt ?? ""),
  };
}
