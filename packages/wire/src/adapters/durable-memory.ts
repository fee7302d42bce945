/**
 * What a Durable Object remembers of each connection while it sleeps: in the socket's attachment, and what is too large
 * for that in the object's storage. Only what has changed is written.
 */
import type { AnyData, Connection } from "../router/connection.ts";
import type { ConnectionPart } from "../router/peer.ts";
import { fingerprint } from "./durable-fingerprint.ts";
import type { DurableKeyValues, DurableSocket } from "./durable-platform.ts";

/** A call in flight, and when its caller gives up, in ms since epoch. */
export type RememberedCall = readonly [correlationId: string, deadline: number];

interface Sections {
  readonly data: AnyData;
  readonly topics: readonly string[];
  readonly calls: readonly RememberedCall[];
}

type Section = keyof Sections;

/** A connection as it was when the object fell asleep. */
export interface Recalled extends Sections {
  readonly greets: boolean;
  readonly admitted: boolean;
  readonly closing: Connection["closing"];
  /** What of it the storage has. */
  readonly stored: readonly Section[];
  /** False when the application has emptied the storage under it. */
  readonly isWhole: boolean;
}

/** Sections that are not here are in the storage, or empty. */
interface Attachment extends Partial<Sections> {
  readonly clientId: string;
  readonly greets: boolean;
  readonly admitted: boolean;
  readonly closing: Connection["closing"];
  readonly stored: readonly Section[];
}

/** The platform allows 16 KiB; half of it keeps every attachment cheap, and leaves room for a wrong guess. */
const MAX_ATTACHED_BYTES = 8_192;
/** Of all but the sections: ids, the reason of a close, names. */
const FRAME_BYTES = 512;
/** Of one call beside its id. */
const CALL_BYTES = 40;
const KEY_PREFIX = "halyard:connection:";
const SECTIONS: readonly Section[] = ["data", "topics", "calls"];

/** One connection's part of the memory. */
export class ConnectionMemory {
  readonly #connection: Connection;
  readonly #socket: DurableSocket;
  readonly #storage: DurableKeyValues;
  /** The data as it was written last. */
  #data = "";
  /** Undefined: not known yet. */
  readonly #bytes: Record<Section, number | undefined> = {
    data: undefined,
    topics: undefined,
    calls: undefined,
  };
  #stored: readonly Section[];
  /** Calls that are in the storage, each by itself: they come and go too often to be written all together. */
  readonly #storedCalls: Set<string>;
  readonly #changed: Set<ConnectionPart>;
  #isOver = false;

  /** Of a connection that is taken up again, nothing has to be written yet; of a new one, everything. */
  constructor(
    connection: Connection,
    socket: DurableSocket,
    storage: DurableKeyValues,
    recalled: Recalled | undefined,
  ) {
    this.#connection = connection;
    this.#socket = socket;
    this.#storage = storage;
    this.#stored = recalled?.stored ?? [];
    this.#storedCalls = new Set(this.#stored.includes("calls") ? recalled?.calls.map(([id]) => id) : []);
    this.#changed = new Set(recalled === undefined ? [...SECTIONS, "state"] : []);
    if (recalled !== undefined) this.#data = fingerprint(connection.data).text;
  }

  mark(part: ConnectionPart): void {
    this.#changed.add(part);
  }

  /** Writes what has changed. Throws when the data cannot be cloned or is too large even for the storage. */
  save(): void {
    if (this.#isOver) return;
    this.#look();
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

  /** The connection is closing because it cannot be kept: of it, only that is kept. */
  giveUp(): void {
    this.#isOver = true;
    this.#attach({ data: { clientId: this.#connection.clientId }, topics: [], calls: [] }, []);
    for (const section of this.#stored) this.#unstore(section);
  }

  /** The connection is over: nobody takes it up again. */
  forget(): void {
    this.#isOver = true;
    for (const section of this.#stored) this.#unstore(section);
    try {
      this.#socket.serializeAttachment(null);
    } catch {
      // A socket that is closed takes no attachment any more, and needs none.
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

  /** Handlers may write to the data without telling. */
  #look(): void {
    const data = fingerprint(this.#connection.data);
    if (data.text === this.#data) this.#changed.delete("data");
    else this.#changed.add("data");
    this.#data = data.text;
    this.#bytes.data = data.bytes;
  }

  /** The smallest sections stay with the socket, as many as fit. */
  #tooLarge(sections: Sections): Section[] {
    let room = MAX_ATTACHED_BYTES - FRAME_BYTES;
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
    const known = this.#bytes[section];
    if (known !== undefined && (section === "data" || !this.#changed.has(section))) return known;
    const bytes =
      section === "calls"
        ? sections.calls.reduce((sum, [id]) => sum + CALL_BYTES + 2 * id.length, 0)
        : fingerprint(sections[section]).bytes;
    this.#bytes[section] = bytes;
    return bytes;
  }

  #sections(): Sections {
    const { data, topics, calls } = this.#connection;
    const inFlight = [...(calls?.values() ?? [])].map(({ id, deadline }) => [id, deadline] as const);
    return { data, topics: [...(topics ?? [])], calls: inFlight };
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

/** What is remembered of a socket's connection; undefined when it is over, or the socket is the application's own. */
export function recall(socket: DurableSocket, storage: DurableKeyValues): Recalled | undefined {
  const attachment: unknown = socket.deserializeAttachment();
  if (!isOurs(attachment)) return undefined;
  const { clientId, greets, admitted, closing, stored } = attachment;
  const section = <Name extends "data" | "topics">(name: Name): Sections[Name] | undefined => {
    const found = stored.includes(name) ? storage.get(keyOf(clientId, name)) : attachment[name];
    return found as Sections[Name] | undefined;
  };
  const calls = stored.includes("calls") ? storedCalls(clientId, storage) : (attachment.calls ?? []);
  const data = section("data");
  const topics = section("topics");
  return {
    greets,
    admitted,
    closing,
    stored,
    data: data ?? { clientId },
    topics: topics ?? [],
    calls,
    isWhole: data !== undefined && topics !== undefined && !(stored.includes("calls") && calls.length === 0),
  };
}

function isOurs(attachment: unknown): attachment is Attachment {
  const { clientId, stored } = (attachment ?? {}) as Partial<Attachment>;
  return typeof clientId === "string" && Array.isArray(stored);
}

/** Takes away what was stored for connections that are no more. */
export function sweep(storage: DurableKeyValues, isThere: (clientId: string) => boolean): void {
  const gone: string[] = [];
  // One by one: all values together may not fit into memory.
  for (const [key] of storage.list({ prefix: KEY_PREFIX })) {
    const clientId = key.slice(KEY_PREFIX.length, key.indexOf(":", KEY_PREFIX.length));
    if (!isThere(clientId)) gone.push(key);
  }
  for (const key of gone) storage.delete(key);
}

function keyOf(clientId: string, section: Section): string {
  return `${KEY_PREFIX}${clientId}:${section}`;
}

function storedCalls(clientId: string, storage: DurableKeyValues): RememberedCall[] {
  const prefix = callKeyOf(clientId, "");
  return [...storage.list({ prefix })].map(([key, deadline]) => [key.slice(prefix.length), Number(deadline)]);
}

function callKeyOf(clientId: string, correlationId: string): string {
  return `${KEY_PREFIX}${clientId}:call:${correlationId}`;
}
