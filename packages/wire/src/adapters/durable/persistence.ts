/**
 * Persists connections while a Durable Object hibernates: in the socket's attachment, and in the object's storage what is
 * too large for it. Writes only what has changed.
 */
import type { AnyData, ConnectionPart } from "../../router/connections/peer.ts";
import type { Connection } from "../../router/contracts.ts";
import type { Membership } from "../../router/topics/membership.ts";
import { fingerprint } from "./fingerprint.ts";
import type { DurableKeyValues, DurableSocket } from "./platform.ts";

/** A call in flight, with its deadline in ms since epoch. */
export type PersistedCall = readonly [correlationId: string, deadline: number];

interface Sections {
  readonly data: AnyData;
  readonly topics: readonly string[];
  readonly channels: readonly Membership[];
  readonly calls: readonly PersistedCall[];
}

type Section = keyof Sections;

/** A connection as it was before the object hibernated. */
export interface RestoredConnection extends Sections {
  readonly greets: boolean;
  readonly admitted: boolean;
  readonly closing: Connection["closing"];
  /** The sections that are in the storage. */
  readonly stored: readonly Section[];
  /** False when the application has deleted the connection's data from the storage. */
  readonly isComplete: boolean;
}

/** The value in the socket's attachment. Missing sections are in the storage, or empty. */
interface Attachment extends Partial<Sections> {
  readonly clientId: string;
  readonly greets: boolean;
  readonly admitted: boolean;
  readonly closing: Connection["closing"];
  readonly stored: readonly Section[];
}

/** The platform allows 16 KiB. Half of it leaves a margin for the size estimate. */
const MAX_ATTACHED_BYTES = 8_192;
/** Upper bound for the fields besides the sections. */
const BASE_BYTES = 512;
/** Upper bound for one call without its id. */
const CALL_BYTES = 40;
const KEY_PREFIX = "halyard:connection:";
const SECTIONS: readonly Section[] = ["data", "topics", "channels", "calls"];

/** Persists one connection. */
export class ConnectionPersistence {
  readonly #connection: Connection;
  readonly #socket: DurableSocket;
  readonly #storage: DurableKeyValues;
  /** The fingerprint of the data that was written last. */
  #writtenData = "";
  /** The size of each section; undefined: unknown. */
  readonly #bytes: Record<Section, number | undefined> = {
    data: undefined,
    topics: undefined,
    channels: undefined,
    calls: undefined,
  };
  #stored: readonly Section[];
  /** Ids of the calls in the storage. Each call has its own key, because calls change too often to rewrite them all. */
  readonly #storedCalls: Set<string>;
  readonly #changed: Set<ConnectionPart>;
  #hasEnded = false;

  /** A restored connection has nothing to write yet; a new one is written completely. */
  constructor(
    connection: Connection,
    socket: DurableSocket,
    storage: DurableKeyValues,
    restored: RestoredConnection | undefined,
  ) {
    this.#connection = connection;
    this.#socket = socket;
    this.#storage = storage;
    this.#stored = restored?.stored ?? [];
    this.#storedCalls = new Set(this.#stored.includes("calls") ? restored?.calls.map(([id]) => id) : []);
    this.#changed = new Set(restored === undefined ? [...SECTIONS, "state"] : []);
    if (restored !== undefined) this.#writtenData = fingerprint(connection.data).text;
  }

  mark(part: ConnectionPart): void {
    this.#changed.add(part);
  }

  /** Writes the changes. Throws when the data cannot be cloned, or is too large for the storage. */
  save(): void {
    if (this.#hasEnded) return;
    this.#checkData();
    if (this.#changed.size === 0) return;
    const sections = this.#sections();
    const stored = this.#tooLarge(sections);
    for (const section of stored)
      if (this.#changed.has(section) || !this.#stored.includes(section)) this.#store(section, sections);
    const isMoved = stored.join() !== this.#stored.join();
    if (isMoved || [...this.#changed].some((part) => !stored.includes(part as Section)))
      this.#attach(sections, stored);
    for (const section of this.#stored) if (!stored.includes(section)) this.#unstore(section);
    this.#stored = stored;
    this.#changed.clear();
  }

  /** The connection is closed because it cannot be persisted: keeps only its closing state. */
  discard(): void {
    this.#hasEnded = true;
    const data = { clientId: this.#connection.clientId };
    this.#attach({ data, topics: [], channels: [], calls: [] }, []);
    for (const section of this.#stored) this.#unstore(section);
  }

  /** The connection has ended: deletes everything. */
  remove(): void {
    this.#hasEnded = true;
    for (const section of this.#stored) this.#unstore(section);
    try {
      this.#socket.serializeAttachment(null);
    } catch {
      // A closed socket accepts no attachment, and needs none.
    }
  }

  #store(section: Section, sections: Sections): void {
    const { clientId } = this.#connection;
    if (section !== "calls") return this.#storage.put(keyOf(clientId, section), sections[section]);
    const inFlight = new Map(sections.calls);
    for (const id of this.#storedCalls) {
      if (inFlight.has(id)) continue;
      this.#storage.delete(callKeyOf(clientId, id));
      this.#storedCalls.delete(id);
    }
    for (const [id, deadline] of inFlight) {
      if (this.#storedCalls.has(id)) continue;
      this.#storage.put(callKeyOf(clientId, id), deadline);
      this.#storedCalls.add(id);
    }
  }

  #unstore(section: Section): void {
    const { clientId } = this.#connection;
    this.#storage.delete(keyOf(clientId, section));
    if (section !== "calls") return;
    for (const id of this.#storedCalls) this.#storage.delete(callKeyOf(clientId, id));
    this.#storedCalls.clear();
  }

  /** Detects changes to the data that handlers made directly. */
  #checkData(): void {
    const data = fingerprint(this.#connection.data);
    if (data.text === this.#writtenData) this.#changed.delete("data");
    else this.#changed.add("data");
    this.#writtenData = data.text;
    this.#bytes.data = data.bytes;
  }

  /** The sections for the storage. The attachment gets the smallest sections that fit together. */
  #tooLarge(sections: Sections): Section[] {
    let room = MAX_ATTACHED_BYTES - BASE_BYTES;
    const sizes = SECTIONS.map((section) => ({ section, bytes: this.#size(section, sections) }));
    sizes.sort((a, b) => a.bytes - b.bytes);
    const attached = sizes
      .filter(({ bytes }) => {
        room -= bytes;
        return room >= 0;
      })
      .map(({ section }) => section);
    return SECTIONS.filter((section) => !attached.includes(section));
  }

  #size(section: Section, sections: Sections): number {
    const current = this.#bytes[section];
    if (current !== undefined && (section === "data" || !this.#changed.has(section))) return current;
    const bytes =
      section === "calls"
        ? sections.calls.reduce((sum, [id]) => sum + CALL_BYTES + 2 * id.length, 0)
        : fingerprint(sections[section]).bytes;
    this.#bytes[section] = bytes;
    return bytes;
  }

  #sections(): Sections {
    const { data, topics, memberships, calls } = this.#connection;
    const inFlight = [...(calls?.values() ?? [])].map(({ id, deadline }) => [id, deadline] as const);
    const channels = [...(memberships?.values() ?? [])];
    return { data, topics: [...(topics ?? [])], channels, calls: inFlight };
  }

  #attach(sections: Sections, stored: readonly Section[]): void {
    const { clientId, greets, admitted, closing } = this.#connection;
    const attachment: Attachment = {
      clientId,
      greets,
      admitted,
      closing,
      stored,
      ...Object.fromEntries(
        SECTIONS.filter((section) => !stored.includes(section)).map((section) => [
          section,
          sections[section],
        ]),
      ),
    };
    this.#socket.serializeAttachment(attachment);
  }
}

/** The persisted connection of a socket; undefined when it has ended, or the socket belongs to the application. */
export function restore(socket: DurableSocket, storage: DurableKeyValues): RestoredConnection | undefined {
  const attachment: unknown = socket.deserializeAttachment();
  if (!isAttachment(attachment)) return undefined;
  const { clientId, greets, admitted, closing, stored } = attachment;
  const section = <Name extends "data" | "topics" | "channels">(name: Name): Sections[Name] | undefined => {
    const value = stored.includes(name) ? storage.get(keyOf(clientId, name)) : attachment[name];
    return value as Sections[Name] | undefined;
  };
  const calls = stored.includes("calls") ? storedCalls(clientId, storage) : (attachment.calls ?? []);
  const data = section("data");
  const topics = section("topics");
  const channels = section("channels");
  return {
    greets,
    admitted,
    closing,
    stored,
    data: data ?? { clientId },
    topics: topics ?? [],
    channels: channels ?? [],
    calls,
    isComplete:
      data !== undefined &&
      topics !== undefined &&
      channels !== undefined &&
      !(stored.includes("calls") && calls.length === 0),
  };
}

function isAttachment(attachment: unknown): attachment is Attachment {
  const { clientId, stored } = (attachment ?? {}) as Partial<Attachment>;
  return typeof clientId === "string" && Array.isArray(stored);
}

/** Deletes stored sections of connections that no longer exist. */
export function deleteOrphans(storage: DurableKeyValues, exists: (clientId: string) => boolean): void {
  const orphans: string[] = [];
  // Collects only the keys: all values together may not fit into memory.
  for (const [key] of storage.list({ prefix: KEY_PREFIX })) {
    const clientId = key.slice(KEY_PREFIX.length, key.indexOf(":", KEY_PREFIX.length));
    if (!exists(clientId)) orphans.push(key);
  }
  for (const key of orphans) storage.delete(key);
}

function keyOf(clientId: string, section: Section): string {
  return `${KEY_PREFIX}${clientId}:${section}`;
}

function storedCalls(clientId: string, storage: DurableKeyValues): PersistedCall[] {
  const prefix = callKeyOf(clientId, "");
  return [...storage.list({ prefix })].map(([key, deadline]) => [key.slice(prefix.length), Number(deadline)]);
}

function callKeyOf(clientId: string, correlationId: string): string {
  return `${KEY_PREFIX}${clientId}:call:${correlationId}`;
}
