/** One connection of a remote process: answers its requests, and announces what changes after them. */
import { type ConnectionData, type OpenContext, WsError } from "@halyard/wire";
import { NO_TENANT } from "../../model/flag.ts";
import { warnOfUnlisted } from "../../server/listed-environments.ts";
import type { Service } from "../../server/service.ts";
import type { Feeds } from "./feeds.ts";
import type { DefinitionsHost } from "./key-admission.ts";
import type { KeyHolder } from "./key-watch.ts";
import {
  CLOSE_UNAUTHENTICATED,
  DefinitionsChanged,
  type DefinitionsPage,
  type DefinitionsRequest,
  type Terms,
} from "./protocol.ts";
import type { FeedReader, TenantFeed } from "./tenant-feed.ts";
import type { Transfer } from "./transfer.ts";

/** The data of a connection of a remote process. */
export interface DefinitionsData extends ConnectionData {
  /** The id of the API key. Not a credential. */
  readonly keyId: string;
  /** The organization whose flags come before the global ones; empty for none. */
  readonly tenant: string;
}

/** What all connections share. */
export interface ReaderParts {
  readonly host: DefinitionsHost;
  readonly feeds: Feeds;
}

export class DefinitionsReader implements KeyHolder, FeedReader {
  readonly keyId: string;
  readonly tenant: string;
  readonly #feed: TenantFeed;
  readonly #ctx: OpenContext<DefinitionsData>;
  readonly #service: Service;
  #transfer: Transfer | undefined;
  #terms: Terms | undefined;
  /** Whether a change is announced. Only after a request: the next request then gets all changes at once. */
  #isListening = false;

  constructor(ctx: OpenContext<DefinitionsData>, { host, feeds }: ReaderParts) {
    this.keyId = ctx.data.keyId;
    this.tenant = ctx.data.tenant;
    this.#ctx = ctx;
    this.#service = host.service;
    this.#feed = feeds.join(this.tenant, this);
  }

  changed(stale: boolean): void {
    if (!this.#isListening) return;
    this.#isListening = false;
    this.#ctx.send(DefinitionsChanged, { stale });
  }

  revoked(): void {
    this.#ctx.ws.close(
      CLOSE_UNAUTHENTICATED,
      "The API key was revoked, has expired or lost its permissions.",
    );
  }

  async answer(request: DefinitionsRequest): Promise<DefinitionsPage> {
    const { environment = this.#service.options.environments?.default } = request;
    let stale = false;
    if (request.page === 0) {
      const started = await this.#start(request.position, environment);
      stale = started.stale;
    }
    const transfer = this.#transfer;
    const terms = this.#terms;
    if (transfer === undefined || terms === undefined || transfer.nextPage !== request.page) {
      throw new WsError(
        "FAILED_PRECONDITION",
        `Page ${request.page} is not the next one. Start with page 0.`,
      );
    }
    const { records, hasMore } = transfer.page();
    if (!hasMore) this.#transfer = undefined;
    const { isWhole } = transfer;
    return {
      position: inEnvironment(transfer.position, environment),
      isWhole,
      records,
      hasMore,
      terms,
      stale,
    };
  }

  async #start(position: string | undefined, environment: string | undefined): Promise<{ stale: boolean }> {
    this.#transfer = undefined;
    if (environment !== undefined) warnOfUnlisted(this.#service, environment);
    // Before the read: what changes during it is announced.
    this.#isListening = true;
    try {
      const suffix = inEnvironment("", environment);
      // A set for another environment has other definitions.
      const known = position?.endsWith(suffix) ? position.slice(0, -suffix.length) : undefined;
      const { transfer, stale } = await this.#feed.transfer(known, environment);
      this.#transfer = transfer;
      this.#terms = this.#termsIn(environment);
      return { stale };
    } catch (error) {
      throw new WsError("UNAVAILABLE", "The flags could not be read. Try again.", undefined, {
        cause: error,
      });
    }
  }

  #termsIn(environment: string | undefined): Terms {
    const { options, trusted } = this.#service;
    return {
      multiTenant: options.multiTenant === true,
      trusted: trusted !== undefined,
      ...(this.tenant !== NO_TENANT && { organizationId: this.tenant }),
      ...(environment !== undefined && { environment }),
    };
  }
}

/** The position as the remote process sees it. */
function inEnvironment(position: string, environment = ""): string {
  return `${position}@${environment}`;
}
