/** Evaluates something for every user that the host has, within a number of users and a time. */
import { within } from "@halyard/base";
import { hasOrganizations } from "@halyard/sessions/plugin";
import type { Steps } from "../../engine/cost.ts";
import type { EvaluationContext, TrustedRoot } from "../../engine/definition.ts";
import type { Root } from "../../engine/path.ts";
import { NO_TENANT } from "../../model/flag.ts";
import type { PlannedUsers } from "../../model/plan.ts";
import { pause } from "../../store/wait.ts";
import type { HostContext } from "../http/host-request.ts";
import type { Service } from "../service.ts";
import { pickFields } from "../trusted/row-values.ts";
import type { TrustedValues } from "../trusted/trusted-attributes.ts";
import { type HostUser, HostUsers } from "./host-users.ts";
import { KnownContexts } from "./known-context.ts";

export interface PopulationOptions {
  /** The organization whose members are visited. `NO_TENANT`: all users. */
  readonly tenant: string;
  readonly environment: string | undefined;
  /** The trusted roots that the evaluations read. */
  readonly roots: ReadonlySet<TrustedRoot>;
  /** The most that the evaluations for one user cost. Default 0. */
  readonly cost?: Steps;
  /** Fields of the user's row, beside those that the context needs. */
  readonly fields?: readonly string[];
  /** Ends the visit. */
  readonly signal?: AbortSignal;
}

/** Bounds of one visit. Beyond them, the counts are of a sample. */
const MAX_USERS = 100_000;
const MAX_MS = 2000;
/** Users that are visited between two looks at the clock: at most this many, and fewer if their flags are expensive. */
const SLICE = 250;
/** About 5 ms. */
const SLICE_COST: Steps = 500_000;
/** Other requests get a turn after this time. */
const TURN_MS = 10;
/** Users whose `compute` runs at the same time. */
const COMPUTED_TOGETHER = 50;

const ALWAYS_UNKNOWN: readonly Root[] = ["anonymousId", "device", "geo", "attributes"];

/** The users of one tenant, with the contexts in which the server would evaluate their flags. */
export class Population {
  readonly contexts: KnownContexts;
  readonly #service: Service;
  readonly #options: PopulationOptions;
  readonly #users: HostUsers;
  /** Whether `trusted.compute` is read, and its input is known. */
  readonly #computes: boolean;

  constructor(service: Service, host: HostContext, options: PopulationOptions) {
    const { tenant, roots } = options;
    const trusted = service.options.trusted ?? {};
    const hasTenant = tenant !== NO_TENANT;
    // Without a tenant, the organization of a user is the active one of a session.
    const isOrganizationKnown = hasTenant || !hasOrganizations(host);
    this.#service = service;
    this.#options = options;
    this.#computes = roots.has("trusted") && trusted.compute !== undefined && isOrganizationKnown;
    const { fields = [] } = options;
    this.#users = new HostUsers(host, tenant, [
      ...fields,
      ...(roots.has("user") ? (trusted.user ?? []) : []),
    ]);
    this.contexts = new KnownContexts([
      ...ALWAYS_UNKNOWN,
      ...(isOrganizationKnown ? [] : (["organizationId"] as const)),
      ...(trusted.session?.length ? (["session"] as const) : []),
      ...(trusted.organization?.length && !hasTenant ? (["organization"] as const) : []),
      ...(trusted.compute !== undefined && !isOrganizationKnown ? (["trusted"] as const) : []),
    ]);
  }

  /**
   * Calls `visit` for each user, until all were visited or a bound is reached. The context is valid only during the call:
   * the next user may get the same object.
   */
  async visit(visit: (user: HostUser, context: EvaluationContext) => void): Promise<PlannedUsers> {
    const deadline = performance.now() + MAX_MS;
    const { signal } = this.#options;
    // Beside the evaluation: a database may take seconds to count many users.
    const counting = this.#users.count();
    counting.catch(() => undefined);
    const slice = this.#slice();
    const organization = await this.#organization();
    let evaluated = 0;
    let isCut = false;
    let turnAt = performance.now();
    let context: EvaluationContext | undefined;
    const batches = this.#users.batches();
    const readNext = () => {
      const batch = batches.next();
      // Not awaited if the count is cut off. A rejection must not end the process then.
      batch.catch(() => undefined);
      return batch;
    };
    let next = readNext();
    while (!isCut) {
      const batch = await resultBefore(next, deadline);
      if (batch === "late") isCut = true;
      if (batch === "late" || batch === undefined) break;
      // The next query runs while this batch is evaluated.
      next = readNext();
      for (let start = 0; start < batch.length && !isCut; ) {
        const users = batch.slice(start, start + slice);
        const computed = this.#computes ? await Promise.all(users.map(({ id }) => this.#compute(id))) : [];
        for (const [at, user] of users.entries()) {
          if (evaluated === MAX_USERS) break;
          if (context === undefined || user.organizationRole !== undefined) {
            context = this.#contextOf(user, organization, computed[at]);
          } else this.#refill(context, user, organization, computed[at]);
          visit(user, context);
          evaluated += 1;
        }
        start += slice;
        isCut = evaluated === MAX_USERS || performance.now() > deadline || signal?.aborted === true;
        if (isCut || performance.now() - turnAt < TURN_MS) continue;
        await pause();
        turnAt = performance.now();
      }
    }
    const total = await counting;
    return { total: Math.max(total, evaluated), evaluated, sampled: isCut && evaluated < total };
  }

  /** Gives the context another environment. */
  move(context: EvaluationContext, environment: string | undefined): void {
    // An absent field and an undefined one are the same to an evaluation.
    const fields = context as Record<string, unknown>;
    fields["environment"] = environment;
  }

  /** How many users are visited together, so that the process serves other requests in between. */
  #slice(): number {
    const affordable = Math.max(1, Math.floor(SLICE_COST / (this.#options.cost || 1)));
    return Math.min(affordable, this.#computes ? COMPUTED_TOGETHER : SLICE);
  }

  /** One user with the context. Undefined for a user who does not exist, or is not a member. */
  async find(
    userId: string,
  ): Promise<{ readonly user: HostUser; readonly context: EvaluationContext } | undefined> {
    const user = await this.#users.find(userId);
    if (user === undefined) return undefined;
    const organization = await this.#organization();
    const computed = this.#computes ? await this.#compute(userId) : undefined;
    return { user, context: this.#contextOf(user, organization, computed) };
  }

  #contextOf(
    user: HostUser,
    organization: TrustedValues | undefined,
    computed: TrustedValues | undefined,
  ): EvaluationContext {
    const { tenant, environment } = this.#options;
    const shared = {
      ...(environment !== undefined && { environment }),
      ...(tenant !== NO_TENANT && { organizationId: tenant }),
      ...(organization?.organization && { organization: organization.organization }),
    };
    const context = this.contexts.create(shared, user.organizationRole);
    this.#refill(context, user, organization, computed);
    return context;
  }

  /** Gives the context to another user: the fields that a user's row and `compute` say. */
  #refill(
    context: EvaluationContext,
    { id, email, role, row }: HostUser,
    organization: TrustedValues | undefined,
    computed: TrustedValues | undefined,
  ): void {
    const { trusted } = this.#service.options;
    // An absent field and an undefined one are the same to an evaluation.
    const fields = context as Record<string, unknown>;
    fields["userId"] = id;
    fields["email"] = email === "" ? undefined : email;
    fields["role"] = role;
    if (this.#options.roots.has("user") && trusted?.user !== undefined) {
      fields["user"] = pickFields(row, trusted.user);
    }
    if (this.#computes) fields["trusted"] = computed?.trusted;
    const unreadable = [...(organization?.unreadable ?? []), ...(computed?.unreadable ?? [])];
    fields["unreadable"] = unreadable.length > 0 ? unreadable : undefined;
  }

  /** The same for all members. */
  async #organization(): Promise<TrustedValues | undefined> {
    const { tenant, roots } = this.#options;
    if (tenant === NO_TENANT || !roots.has("organization")) return undefined;
    return this.#service.trusted?.read({ organizationId: tenant, isVerified: false }, ORGANIZATION);
  }

  async #compute(userId: string): Promise<TrustedValues | undefined> {
    const { tenant } = this.#options;
    const organizationId = tenant === NO_TENANT ? undefined : tenant;
    return this.#service.trusted?.read({ userId, organizationId, isVerified: false }, COMPUTED);
  }
}

const ORGANIZATION: ReadonlySet<TrustedRoot> = new Set(["organization"]);
const COMPUTED: ReadonlySet<TrustedRoot> = new Set(["trusted"]);

/** The batch; undefined after the last one, `late` if the time is over before it is there. */
async function resultBefore(
  next: Promise<IteratorResult<readonly HostUser[], void>>,
  deadline: number,
): Promise<readonly HostUser[] | "late" | undefined> {
  const left = deadline - performance.now();
  if (left <= 0) return "late";
  const settled = next.then(
    () => true,
    () => true,
  );
  const isThere = await within(settled, left, "").catch(() => false);
  if (!isThere) return "late";
  const { done, value } = await next;
  return done === true ? undefined : value;
}
