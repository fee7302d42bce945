/** The trusted attributes of one auth instance: which there are, and their values for the subject of an evaluation. */

import type { RowFields as FieldsOfRow, WatchedFields } from "@halyard/sessions/plugin";
import type { TrustedRoot } from "../../engine/definition.ts";
import type { JsonObject } from "../../engine/json.ts";
import { TRUSTED_ROOTS } from "../../engine/path.ts";
import type { TrustedComputeInput, TrustedOptions } from "../../model/trusted.ts";
import type { ComputeOutcome } from "../metrics/meter.ts";
import type { TrustedModel } from "./check-options.ts";
import { type Computed, ComputedAttributes } from "./computed-attributes.ts";
import type { HostRows } from "./host-rows.ts";

/** Values that the caller claims, which it may. */
export type TrustedClaims = { readonly [Root in TrustedRoot]?: JsonObject | undefined };

/** Whose trusted attributes an evaluation reads. */
export interface TrustedSubject {
  readonly userId?: string | undefined;
  readonly organizationId?: string | undefined;
  /** Of the caller's own session. */
  readonly sessionToken?: string | undefined;
  readonly claims?: TrustedClaims | undefined;
  /** Whether the identity in the context is the caller's own, verified by a session or an API key. */
  readonly isVerified: boolean;
  /** The caller may not look up the attributes of the ids it names. */
  readonly isWithheld?: boolean | undefined;
}

/** The values by root, and the roots that could not be read. */
export type TrustedValues = { [Root in TrustedRoot]?: JsonObject } & { unreadable?: readonly TrustedRoot[] };

export interface TrustedAttributesOptions {
  readonly options: TrustedOptions;
  readonly rows: HostRows;
  readonly isIsolated: boolean;
  readonly onCompute: (outcome: ComputeOutcome, error?: unknown) => void;
  /** Called when values could not be read, with the root. */
  readonly onUnreadable: (root: TrustedRoot) => void;
  /** Called when rows could not be read or compared. */
  readonly onUnread: (model: TrustedModel, error: unknown) => void;
}

type RowFields = FieldsOfRow<JsonObject>;

const DEFAULT_TTL_MS = 60_000;
/** Longer ids belong to no row. Bounds the memory that one entry takes. */
const MAX_ID_LENGTH = 255;

export class TrustedAttributes {
  readonly options: TrustedOptions;
  readonly #rows: HostRows;
  readonly #fields: Readonly<Record<TrustedModel, WatchedFields<JsonObject> | undefined>>;
  readonly #computed: ComputedAttributes | undefined;
  readonly #onUnreadable: (root: TrustedRoot) => void;

  constructor({ options, rows, isIsolated, onCompute, onUnreadable, onUnread }: TrustedAttributesOptions) {
    this.options = options;
    this.#rows = rows;
    this.#onUnreadable = onUnreadable;
    const fieldsOf = (model: TrustedModel): WatchedFields<JsonObject> | undefined => {
      const names = options[model] ?? [];
      return names.length === 0 ? undefined : rows.watch(model, names, (error) => onUnread(model, error));
    };
    this.#fields = {
      user: fieldsOf("user"),
      session: fieldsOf("session"),
      organization: fieldsOf("organization"),
    };
    const { compute, ttlMs = DEFAULT_TTL_MS } = options;
    this.#computed =
      compute === undefined ? undefined : new ComputedAttributes({ compute, ttlMs, onCompute, isIsolated });
  }

  /** The number of rows and results in memory. */
  get size(): number {
    const { user, session, organization } = this.#fields;
    return [user, session, organization, this.#computed].reduce((sum, cache) => sum + (cache?.size ?? 0), 0);
  }

  /** Rows are not compared any more. */
  close(): void {
    for (const fields of Object.values(this.#fields)) fields?.close();
  }

  /** The values of the roots that rules read. Synchronous while they are in memory. Never rejects. */
  read(subject: TrustedSubject, roots: ReadonlySet<TrustedRoot>): TrustedValues | Promise<TrustedValues> {
    const user = roots.has("user") ? this.#row("user", subject.userId) : undefined;
    const session = roots.has("session") ? this.#row("session", subject.sessionToken) : undefined;
    const organization = roots.has("organization")
      ? this.#row("organization", subject.organizationId)
      : undefined;
    const trusted = roots.has("trusted") ? this.#compute(subject) : undefined;
    if (
      user instanceof Promise ||
      session instanceof Promise ||
      organization instanceof Promise ||
      trusted instanceof Promise
    ) {
      return Promise.all([user, session, organization, trusted]).then((values) =>
        this.#valuesOf(values, subject.claims),
      );
    }
    return this.#valuesOf([user, session, organization, trusted], subject.claims);
  }

  #row(model: TrustedModel, id: string | undefined): RowFields | Promise<RowFields> {
    const fields = this.#fields[model];
    if (fields === undefined || id === undefined || id.length > MAX_ID_LENGTH) return undefined;
    return fields.get(id);
  }

  #compute(subject: TrustedSubject): Computed | undefined | Promise<Computed> {
    const { userId, organizationId } = subject;
    if (this.#computed === undefined || (userId === undefined && organizationId === undefined)) {
      return undefined;
    }
    // The length keeps two ids apart.
    const key = `${userId?.length ?? "-"}:${userId ?? ""}:${organizationId ?? ""}`;
    return this.#computed.get(key, () => this.#inputFor(subject));
  }

  async #inputFor({ userId, organizationId, sessionToken }: TrustedSubject): Promise<TrustedComputeInput> {
    const [user, organization, session] = await Promise.all([
      this.#rows.find("user", userId),
      this.#rows.find("organization", organizationId),
      this.#rows.find("session", sessionToken),
    ]);
    return { ...(user && { user }), ...(organization && { organization }), ...(session && { session }) };
  }

  #valuesOf(
    [user, session, organization, trusted]: readonly RowFields[],
    claims: TrustedClaims | undefined,
  ): TrustedValues {
    const values: TrustedValues = {};
    if (user) values.user = user;
    if (session) values.session = session;
    if (organization) values.organization = organization;
    if (trusted) values.trusted = trusted;
    if (user === null || session === null || organization === null || trusted === null) {
      const unread = { user, session, organization, trusted };
      values.unreadable = TRUSTED_ROOTS.filter((root) => unread[root] === null);
      values.unreadable.forEach(this.#onUnreadable);
    }
    return claims === undefined ? values : withClaims(values, claims);
  }
}

/** A claimed value replaces the one that was read. */
export function withClaims(values: TrustedValues, claims: TrustedClaims): TrustedValues {
  const { user, session, organization, trusted } = claims;
  const unreadable = values.unreadable?.filter((root) => claims[root] === undefined);
  return {
    ...values,
    ...(user && { user: { ...values.user, ...user } }),
    ...(session && { session: { ...values.session, ...session } }),
    ...(organization && { organization: { ...values.organization, ...organization } }),
    ...(trusted && { trusted: { ...values.trusted, ...trusted } }),
    ...(unreadable && { unreadable }),
  };
}
