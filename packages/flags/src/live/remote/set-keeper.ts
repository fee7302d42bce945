/** Keeps the newest set in the file: written at most once per second, and never two writes at a time. */
import { later } from "@halyard/base";
import { WsError } from "@halyard/wire";
import type { DefinitionSet } from "./definition-set.ts";
import type { DefinitionsFile, DefinitionsFileOptions, StoredSet } from "./definitions-file.ts";

const WRITE_AFTER_MS = 1_000;
/** An unchanged set is written again after this time, so that its age in the file is not too old. */
const REFRESH_MS = 600_000;

export interface SetKeeperOptions extends DefinitionsFileOptions {
  /** The file could not be used or written. */
  readonly failed: (error: WsError) => void;
}

export class SetKeeper {
  readonly #options: SetKeeperOptions;
  /** Loaded only where it is used: not every runtime has files. */
  readonly #file: Promise<DefinitionsFile>;
  #newest: StoredSet | undefined;
  #written: StoredSet | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: SetKeeperOptions) {
    this.#options = options;
    this.#file = import("./definitions-file.ts").then(({ DefinitionsFile }) => new DefinitionsFile(options));
  }

  /** Never rejects. */
  async read(): Promise<StoredSet | undefined> {
    try {
      return await (await this.#file).read();
    } catch (error) {
      this.#fail("The file with flag definitions is not used", error);
      return undefined;
    }
  }

  keep(set: DefinitionSet, confirmedAtMs: number): void {
    this.#newest = { set, confirmedAtMs };
    if (this.#timer !== undefined || !this.#isDue()) return;
    this.#timer = later(() => this.#write(), WRITE_AFTER_MS);
  }

  /** Writes what was not written yet. */
  async close(): Promise<void> {
    if (this.#newest !== this.#written) this.#write();
    await this.#writing;
    clearTimeout(this.#timer);
  }

  #isDue(): boolean {
    if (this.#newest?.set !== this.#written?.set) return true;
    return (this.#newest?.confirmedAtMs ?? 0) - (this.#written?.confirmedAtMs ?? 0) >= REFRESH_MS;
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const newest = this.#newest;
    if (newest === undefined) return;
    this.#written = newest;
    this.#writing = this.#writing.then(async () => {
      try {
        await (await this.#file).write(newest.set, newest.confirmedAtMs);
      } catch (error) {
        // The next confirmation writes it again.
        if (this.#written === newest) this.#written = undefined;
        this.#fail("The file with flag definitions could not be written", error);
      }
    });
  }

  #fail(what: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : "unknown";
    this.#options.failed(
      new WsError("FAILED_PRECONDITION", `${what} (${this.#options.path}): ${reason}.`, undefined, {
        cause: error,
      }),
    );
  }
}
