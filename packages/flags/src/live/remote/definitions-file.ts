/**
 * The last set of definitions on disk, for a start while the server cannot be reached. The first line has an HMAC of the
 * rest under a key derived from the API key: a file that another program changed, or that belongs to another key, is
 * refused.
 */
import { createHmac, hkdfSync, randomUUID, timingSafeEqual } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import * as z from "zod";
import { termsSchema } from "../definitions/protocol.ts";
import { type DefinitionSet, recordsOf, SetBuilder } from "./definition-set.ts";

const FORMAT = "halyard-flags-1";
const DERIVATION = "halyard remote flags file 1";
const MAC_LENGTH = 64;
/** Where the signed part begins: after the format, a space, the HMAC in hex and a line break. */
const BODY_START = FORMAT.length + 1 + MAC_LENGTH + 1;
/** Records written or read before the event loop gets a turn: a few milliseconds. */
const SLICE = 500;
/** Room for the first two lines, in bytes. */
const HEAD_BYTES = 4_096;

/** The second line. */
const headSchema = z.object({
  /** The options that the set was requested with. */
  source: z.string(),
  position: z.string(),
  terms: termsSchema,
  /** When the server last confirmed the set, in ms since epoch. */
  confirmedAtMs: z.number(),
});

export interface StoredSet {
  readonly set: DefinitionSet;
  readonly confirmedAtMs: number;
}

export interface DefinitionsFileOptions {
  readonly path: string;
  readonly key: string;
  /** Names the server, the organization and the environment. A file of another source is refused. */
  readonly source: string;
  readonly maxBytes: number;
}

export class DefinitionsFile {
  readonly #options: DefinitionsFileOptions;
  readonly #signingKey: Uint8Array;

  constructor(options: DefinitionsFileOptions) {
    this.#options = options;
    this.#signingKey = new Uint8Array(hkdfSync("sha256", options.key, "", DERIVATION, 32));
  }

  /** Undefined if there is no file. Throws if it cannot be used; the message says why. */
  async read(): Promise<StoredSet | undefined> {
    const bytes = await this.#readBytes();
    if (bytes === undefined) return undefined;
    const body = this.#verified(bytes);
    const [head = "", ...records] = body.toString("utf8").split("\n");
    const { source, position, terms, confirmedAtMs } = headSchema.parse(JSON.parse(head));
    if (source !== this.#options.source) {
      throw new Error("it was written for another url, organizationId or environment");
    }
    const builder = new SetBuilder(undefined, this.#options.maxBytes);
    for (const [at, record] of records.entries()) {
      if (record !== "") builder.add(record);
      if (at % SLICE === SLICE - 1) await turn();
    }
    return { set: await builder.finish(position, terms), confirmedAtMs };
  }

  /** Replaces the file as a whole: a reader sees the previous set or this one. */
  async write(set: DefinitionSet, confirmedAtMs: number): Promise<void> {
    const { path, source, maxBytes } = this.#options;
    const { position, terms } = set;
    const parts: Buffer[] = [];
    const mac = createHmac("sha256", this.#signingKey);
    let bytes = 0;
    let count = 0;
    const add = (line: string): void => {
      const part = Buffer.from(`${line}\n`);
      mac.update(part);
      parts.push(part);
      bytes += part.length;
    };
    add(JSON.stringify({ source, position, terms, confirmedAtMs } satisfies z.input<typeof headSchema>));
    for (const record of recordsOf(set)) {
      add(record);
      if (bytes > maxBytes) throw new Error(`the set has more than ${maxBytes} bytes, the limit (maxBytes)`);
      if (++count % SLICE === 0) await turn();
    }
    const head = Buffer.from(`${FORMAT} ${mac.digest("hex")}\n`);
    await replaceFile(path, Buffer.concat([head, ...parts]));
  }

  async #readBytes(): Promise<Buffer | undefined> {
    const { path, maxBytes } = this.#options;
    const limit = maxBytes + HEAD_BYTES;
    const file = await open(path, "r").catch((error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    });
    if (file === undefined) return undefined;
    try {
      const stat = await file.stat();
      if (!stat.isFile()) throw new Error("it is not a file");
      if (stat.size > limit) throw new Error(`it has ${stat.size} bytes, more than the limit (maxBytes)`);
      const bytes = Buffer.alloc(stat.size);
      // A file that grows or shrinks meanwhile fails the check of its signature.
      await file.read(bytes, 0, stat.size, 0);
      return bytes;
    } finally {
      await file.close();
    }
  }

  #verified(bytes: Buffer): Buffer {
    const [format, given = ""] = bytes.toString("latin1", 0, BODY_START).split(/[ \n]/);
    if (format !== FORMAT) throw new Error("it is not a file of flag definitions in a known format");
    const body = bytes.subarray(BODY_START);
    const expected = createHmac("sha256", this.#signingKey).update(body).digest();
    const mac = Buffer.from(given, "hex");
    if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) {
      throw new Error("it was changed or cut off, or it belongs to another API key");
    }
    return body;
  }
}

/** Readable by the owner only. Synced before the rename, so that a crash does not leave an empty file. */
async function replaceFile(path: string, bytes: Buffer): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
