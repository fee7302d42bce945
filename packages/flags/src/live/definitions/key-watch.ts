/** Compares the keys of open connections with the database, so that a revoked key loses its connection. */
import { findKey, type StoredKey, type WatchedFields, watchFields } from "@halyard/sessions/plugin";
import { admitAgain, type DefinitionsHost } from "./key-admission.ts";

/** A revoked key loses its connection within 2 s, which includes the reading. */
const CHECK_MS = 1_000;

/** A connection whose key is watched. */
export interface KeyHolder {
  readonly keyId: string;
  readonly tenant: string;
  /** The key is no longer valid for these definitions. */
  revoked(): void;
}

/** The key plugin writes a key at each use, so only these fields count. */
const FIELDS = ["id", "referenceId", "enabled", "permissions", "expiresAt"] as const;

export class KeyWatch {
  readonly #host: DefinitionsHost;
  readonly #holders = new Set<KeyHolder>();
  readonly #keys: WatchedFields<StoredKey>;
  #timer: ReturnType<typeof setInterval> | undefined;
  #isChecking = false;

  constructor(host: DefinitionsHost) {
    this.#host = host;
    this.#keys = watchFields<StoredKey>(host.context, "apikey", {
      names: FIELDS,
      pick: (row) => ({ ...row, id: String(row["id"]) }),
      // While the database does not respond, no caller can revoke a key either. The next check tries again.
      report: () => undefined,
      isReconciled: false,
    });
  }

  /** Whether the database has the key. A key in another storage could be revoked without being noticed here. */
  async isStored(keyId: string): Promise<boolean> {
    return (await this.#keys.refresh([keyId])).has(keyId);
  }

  add(holder: KeyHolder): void {
    this.#holders.add(holder);
    this.#timer ??= setInterval(() => void this.#check(), CHECK_MS);
    if (typeof this.#timer === "object") this.#timer.unref();
  }

  delete(holder: KeyHolder): void {
    this.#holders.delete(holder);
    if (this.#holders.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      await this.#checkKeys([...new Set([...this.#holders].map(({ keyId }) => keyId))]);
    } catch {
      // The next check tries again.
    } finally {
      this.#isChecking = false;
    }
  }

  async #checkKeys(ids: readonly string[]): Promise<void> {
    const rows = await this.#keys.refresh(ids);
    /** By key and tenant: processes usually share one key. */
    const verdicts = new Map<string, Promise<"granted" | "revoked">>();
    for (const holder of [...this.#holders].filter(({ keyId }) => ids.includes(keyId))) {
      const { keyId, tenant } = holder;
      const name = JSON.stringify([keyId, tenant]);
      const verdict = verdicts.get(name) ?? this.#judge(rows.get(keyId), tenant);
      verdicts.set(name, verdict);
      // One that cannot be judged, because a callback of the host throws, must not protect the others.
      if ((await verdict.catch(() => undefined)) === "revoked") holder.revoked();
    }
  }

  async #judge(row: StoredKey | undefined, tenant: string): Promise<"granted" | "revoked"> {
    const { context, service } = this.#host;
    const key = row && (await findKey(context, row, service.identities.keyResource));
    return key === undefined || key === "ended" ? "revoked" : admitAgain(this.#host, key, tenant);
  }
}
