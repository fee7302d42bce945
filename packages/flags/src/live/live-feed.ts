/** Keeps the subscribed clients of one process current: which of them a change concerns, and when they are told. */

import { type Awaitable, chain, later } from "@halyard/base";
import type { EvaluationContext } from "../engine/definition.ts";
import type { FlagsBootstrap } from "../model/bootstrap.ts";
import { canonicalJson } from "../model/canonical-json.ts";
import { FeatureFlagError } from "../model/errors.ts";
import { NO_TENANT } from "../model/flag.ts";
import type { OnlineSource } from "../model/online.ts";
import { knownContextCall, type ResolvedContext, resolveContext } from "../server/evaluation/context.ts";
import type { FlagLayer, Layers } from "../server/evaluation/layer.ts";
import { bootstrapResult } from "../server/evaluation/results.ts";
import { withTrusted } from "../server/evaluation/trusted-subject.ts";
import type { Service } from "../server/service.ts";
import { createLimit, pause, repeat } from "../store/wait.ts";
import { effectiveLayers, expiredIn, isSameSnapshots, markOf, positionOf } from "./layers.ts";
import { type LivePosition, Sync } from "./messages.ts";
import type { TagOf } from "./session-tag.ts";
import type { Held, LiveCaller, Subscriber } from "./subscriber.ts";
import { LiveTenants } from "./tenants.ts";
import { remember, scopeFor, sendCurrent, sendUpdates, told } from "./updates.ts";

/** What a client has from an earlier connection. */
export interface Resume {
  readonly tag: string;
  readonly at: LivePosition;
}

/** The longest that evaluations for subscribers keep the event loop. */
const SLICE_MS = 5;
/** Sessions that changed and are read at the same time. */
const MAX_SYNCS = 8;
/** Pause before a session that could not be evaluated is tried again. */
const RETRY_MS = 1000;
/** How often trusted attributes that rules read are compared: not every change of them is announced. */
const ATTRIBUTES_MS = 60_000;
/** The longest delay of a timer. */
const MAX_DELAY_MS = 2 ** 31 - 1;

const NO_HEADERS = { get: () => null };

export interface LiveFeedOptions {
  readonly service: Service;
  readonly tagOf: TagOf;
  readonly warn: (message: string, error: unknown) => void;
}

export class LiveFeed {
  readonly #service: Service;
  readonly #tagOf: TagOf;
  readonly #warn: (message: string, error: unknown) => void;
  readonly #tenants: LiveTenants;
  readonly #subscribers = new Set<Subscriber>();
  /** Subscribers whose values may have changed, each once. */
  #marked: Subscriber[] = [];
  /** Their number, with those of the batch that is evaluated now. */
  #waiting = 0;
  /** Subscribers that could not be evaluated. */
  #failed = new Set<Subscriber>();
  readonly #limit = createLimit(MAX_SYNCS);
  readonly #attributes: { stop(): void } | undefined;
  readonly #stopAttributes: (() => void) | undefined;
  readonly #online: OnlineSource = (userIds) => this.#onlineOf(new Set(userIds));
  #isWorking = false;
  #isClosed = false;
  #expiry: { readonly atMs: number; readonly timer: ReturnType<typeof setTimeout> } | undefined;

  constructor({ service, tagOf, warn }: LiveFeedOptions) {
    this.#service = service;
    this.#tagOf = tagOf;
    this.#warn = warn;
    this.#tenants = new LiveTenants(service.store, (subscribers) => this.#mark(subscribers));
    const [subscribers, waiting] = [() => this.#subscribers.size, () => this.#waiting];
    service.live.figures = {
      get subscribers() {
        return subscribers();
      },
      get waiting() {
        return waiting();
      },
    };
    // The option `online` knows the users of all processes.
    service.live.online ??= this.#online;
    if (service.trusted === undefined) return;
    this.#attributes = repeat(ATTRIBUTES_MS, async () => this.#mark(this.#subscribers));
    const { changeListeners } = service.identities;
    const listener = (change: { readonly kind: string; readonly id?: string }) => {
      if (change.kind === "organization-row") this.#mark(this.#ofOrganization(change.id));
    };
    changeListeners.add(listener);
    this.#stopAttributes = () => void changeListeners.delete(listener);
  }

  get size(): number {
    return this.#subscribers.size;
  }

  /** Begins a subscription: sends all values, or those that changed since what the client has. */
  async add(subscriber: Subscriber, resume: Resume | undefined): Promise<void> {
    if (this.#isClosed)
      throw new FeatureFlagError("EVALUATION_ERROR", "Live flags were closed in this process. Try again.");
    this.#subscribers.add(subscriber);
    await this.#sync(subscriber, resume);
  }

  remove(subscriber: Subscriber): void {
    subscriber.isClosed = true;
    subscriber.stop?.();
    subscriber.stop = undefined;
    this.#tenants.assign(subscriber, []);
    this.#subscribers.delete(subscriber);
    this.#failed.delete(subscriber);
  }

  /** The session of the subscriber has changed. Nothing is sent to it until its values were evaluated again. */
  change(subscriber: Subscriber, who: LiveCaller): void {
    subscriber.who = who;
    subscriber.isOutdated = true;
    this.#mark([subscriber]);
  }

  close(): void {
    this.#isClosed = true;
    this.#attributes?.stop();
    this.#stopAttributes?.();
    clearTimeout(this.#expiry?.timer);
    if (this.#service.live.online === this.#online) this.#service.live.online = undefined;
    for (const subscriber of [...this.#subscribers]) this.remove(subscriber);
    this.#tenants.close();
  }

  *#onlineOf(userIds: Set<string>): Generator<string> {
    for (const { who } of this.#subscribers) {
      if (who.caller.kind === "user" && userIds.delete(who.caller.user.id)) yield who.caller.user.id;
    }
  }

  *#ofOrganization(organizationId: string | undefined): Generator<Subscriber> {
    for (const subscriber of this.#subscribers) {
      if (subscriber.held?.context.organizationId === organizationId) yield subscriber;
    }
  }

  #mark(subscribers: Iterable<Subscriber>): void {
    for (const subscriber of subscribers) {
      if (subscriber.isMarked) continue;
      subscriber.isMarked = true;
      this.#waiting += 1;
      this.#marked.push(subscriber);
    }
    if (this.#isWorking || this.#marked.length === 0 || this.#isClosed) return;
    this.#isWorking = true;
    void this.#work();
  }

  async #work(): Promise<void> {
    // The changes of one turn are evaluated together.
    await undefined;
    this.#service.tally.touch();
    let startedAtMs = performance.now();
    let nowMs = Date.now();
    let nextExpiryMs = Number.POSITIVE_INFINITY;
    while (this.#marked.length > 0) {
      const batch = this.#marked;
      this.#marked = [];
      for (const subscriber of batch) {
        subscriber.isMarked = false;
        this.#waiting -= 1;
        this.#bring(subscriber, nowMs);
        if (subscriber.nextExpiryMs < nextExpiryMs) nextExpiryMs = subscriber.nextExpiryMs;
        if (performance.now() - startedAtMs < SLICE_MS) continue;
        await pause();
        startedAtMs = performance.now();
        nowMs = Date.now();
      }
    }
    this.#isWorking = false;
    this.#scheduleExpiry(nextExpiryMs);
  }

  /** Brings a client to the current snapshots. */
  #bring(subscriber: Subscriber, nowMs: number): void {
    const { held } = subscriber;
    // At its end, a synchronization marks the subscriber again.
    if (subscriber.isClosed || subscriber.isSyncing) return;
    if (subscriber.isOutdated) return this.#syncLater(subscriber);
    if (held === undefined) return;
    try {
      const target = this.#tenants.snapshots(held.tenant);
      if (this.#haveAttributesChanged(held)) {
        subscriber.isOutdated = true;
        return this.#syncLater(subscriber);
      }
      if (isSameSnapshots(held.snapshots, target) && subscriber.nextExpiryMs > nowMs) return;
      sendUpdates(this.#service, subscriber, target, nowMs);
    } catch (error) {
      this.#retryLater(subscriber, error);
    }
  }

  /** Whether rules may read other trusted attributes than those the values were evaluated with. */
  #haveAttributesChanged({ resolved, tenant, context }: Held): boolean {
    if (this.#service.trusted === undefined) return false;
    const layers = effectiveLayers(tenant, this.#tenants.snapshots(tenant));
    const read = this.#contextIn(layers, resolved);
    return read instanceof Promise || canonicalJson(read) !== canonicalJson(context);
  }

  /** The context of the session with the trusted attributes that rules read. */
  #contextIn(layers: Layers<FlagLayer>, { layers: [whose] }: ResolvedContext): Awaitable<EvaluationContext> {
    const [first, global] = layers;
    const { context, subject } = whose;
    const read = withTrusted(this.#service, [
      { ...first, context, subject },
      global && { ...global, context, subject },
    ]);
    return chain(read, ([own]) => own.context);
  }

  #syncLater(subscriber: Subscriber): void {
    if (subscriber.isSyncing) return;
    this.#limit(() => this.#sync(subscriber, undefined)).catch((error: unknown) => {
      if (error instanceof FeatureFlagError && error.code === "PERMISSION_DENIED")
        return this.#empty(subscriber);
      this.#retryLater(subscriber, error);
    });
  }

  #retryLater(subscriber: Subscriber, error: unknown): void {
    if (subscriber.isClosed) return;
    this.#warn(
      "The flags of a subscribed connection could not be evaluated. They are evaluated again.",
      error,
    );
    subscriber.isOutdated = true;
    // One timer for all of them.
    if (this.#failed.size === 0) later(() => this.#retry(), RETRY_MS);
    this.#failed.add(subscriber);
  }

  #retry(): void {
    const failed = this.#failed;
    this.#failed = new Set();
    this.#mark(failed);
  }

  /** The context claims what the session no longer has: the client keeps no value until the session has it again. */
  #empty(subscriber: Subscriber): void {
    const { id, sender, held } = subscriber;
    this.#tenants.assign(subscriber, []);
    subscriber.held = undefined;
    subscriber.nextExpiryMs = Number.POSITIVE_INFINITY;
    if (held === undefined || subscriber.isClosed) return;
    const { userId, organizationId, anonymousId } = held.context;
    const context = { userId, organizationId, anonymousId };
    const at = positionOf(held.snapshots);
    const [evaluatedAt, position] = [new Date().toISOString(), at.slice(1).join(".")];
    const full = { flags: {}, evaluatedAt, context, position } as FlagsBootstrap;
    sender.send(Sync, { id, tag: "", at, full });
  }

  async #sync(subscriber: Subscriber, resume: Resume | undefined): Promise<void> {
    if (subscriber.isSyncing || subscriber.isClosed) return;
    subscriber.isSyncing = true;
    try {
      do {
        subscriber.isOutdated = false;
        await this.#syncOnce(subscriber, resume);
        // The session may have changed during it.
      } while (subscriber.isOutdated && !subscriber.isClosed);
    } finally {
      subscriber.isSyncing = false;
    }
    if (!subscriber.isClosed) this.#mark([subscriber]);
  }

  async #syncOnce(subscriber: Subscriber, resume: Resume | undefined): Promise<void> {
    const { input, who } = subscriber;
    const service = this.#service;
    const call = knownContextCall(service, NO_HEADERS, who.ties, () => {
      throw claimsOthers();
    });
    const resolved = await resolveContext(call, who.caller, input);
    const [{ tenant }] = resolved.layers;
    this.#tenants.assign(subscriber, tenant === NO_TENANT ? [NO_TENANT] : [tenant, NO_TENANT]);
    await this.#load(tenant, resume?.at ?? []);
    const isStopped = () => subscriber.isOutdated || subscriber.isClosed;
    const snapshots = this.#tenants.snapshots(tenant);
    const layers = effectiveLayers(tenant, snapshots);
    const context = await this.#contextIn(layers, resolved);
    if (isStopped()) return;
    const tag = this.#tagOf(tenant, context);
    if (subscriber.held?.tag === tag) {
      // Only something that rules do not read has changed.
      subscriber.held = { ...subscriber.held, resolved, context };
      return;
    }
    const hasTokens = input.exposures === true;
    const scope = scopeFor(service, who.caller, {
      held: { resolved, context, snapshots },
      layers,
      hasTokens,
    });
    const held: Held = { resolved, tenant, context, snapshots, tag, nowMs: scope.nowMs };
    const { id, sender } = subscriber;
    const at = positionOf(snapshots);
    if (resume?.tag === tag && subscriber.held === undefined) {
      const keys = await this.#keysAfter(held, resume.at);
      if (isStopped()) return;
      if (keys !== undefined) {
        remember(subscriber, held);
        sender.send(Sync, { id, tag, at: keys.length === 0 ? at : resume.at });
        told(subscriber);
        return sendCurrent(service, subscriber, held, keys);
      }
    }
    const { flags, evaluatedAt, context: shown, position, exposures } = await bootstrapResult(scope, input);
    if (isStopped()) return;
    const { userId, organizationId, anonymousId } = shown;
    const owner = { userId, organizationId, anonymousId };
    const full = { flags, evaluatedAt, context: owner, position, exposures } as FlagsBootstrap;
    remember(subscriber, held);
    sender.send(Sync, { id, tag, at, full });
    told(subscriber);
  }

  /** Reads the snapshots, at least as new as what the client has: a client never goes back. */
  async #load(tenant: string, [, global, ofTenant]: LivePosition): Promise<void> {
    const { store } = this.#service;
    const wanted: [string, number][] = [[NO_TENANT, global ?? 0]];
    if (tenant !== NO_TENANT) wanted.push([tenant, ofTenant ?? 0]);
    for (const [one, revision] of wanted) {
      const { snapshot, stale } = await store.snapshot(one, revision);
      if (snapshot.revision < revision && stale)
        throw new FeatureFlagError("STORAGE_ERROR", "The flags are older than the client's. Try again.", {
          status: 503,
        });
    }
  }

  /** Keys that may have changed after the client's revisions. Undefined if it needs all values. */
  async #keysAfter(
    { snapshots, tenant, context, nowMs }: Held,
    [mark, global, ofTenant]: LivePosition,
  ): Promise<readonly string[] | undefined> {
    if (global === undefined || (ofTenant === undefined) !== (snapshots.ofTenant === undefined))
      return undefined;
    const changes = [await this.#tenants.get(NO_TENANT)?.log.since(global, snapshots.global)];
    if (ofTenant !== undefined && snapshots.ofTenant !== undefined)
      changes.push(await this.#tenants.get(tenant)?.log.since(ofTenant, snapshots.ofTenant));
    const known = changes.filter((one) => one !== undefined);
    // With another mark, the client has changes that a restored backup does not have.
    if (known.length < changes.length || markOf(known.map(({ hash }) => hash)) !== mark) return undefined;
    // An override may have expired without a revision.
    const range = { afterMs: Number.NEGATIVE_INFINITY, upToMs: nowMs };
    return [...known.flatMap(({ keys }) => [...keys]), ...expiredIn(snapshots, context.userId, range)];
  }

  /** An override expires at this time. A timer for an earlier one stays, and finds the next when it fires. */
  #scheduleExpiry(atMs: number): void {
    if (atMs >= (this.#expiry?.atMs ?? Number.POSITIVE_INFINITY) || this.#isClosed) return;
    clearTimeout(this.#expiry?.timer);
    const delayMs = Math.min(Math.max(atMs - Date.now(), 1), MAX_DELAY_MS);
    const timer = later(() => {
      this.#expiry = undefined;
      this.#mark(this.#expired());
      let nextMs = Number.POSITIVE_INFINITY;
      for (const { nextExpiryMs } of this.#subscribers) nextMs = Math.min(nextMs, nextExpiryMs);
      this.#scheduleExpiry(nextMs);
    }, delayMs);
    this.#expiry = { atMs, timer };
  }

  *#expired(): Generator<Subscriber> {
    const nowMs = Date.now();
    for (const subscriber of this.#subscribers) if (subscriber.nextExpiryMs <= nowMs) yield subscriber;
  }
}

function claimsOthers(): FeatureFlagError {
  return new FeatureFlagError(
    "PERMISSION_DENIED",
    "The context of the subscription claims another identity than that of the session, or another organization than the active one. Leave it out.",
  );
}
