/** Keeps members whose connection was lost in the storage of the object, until they return or leave. */
import { uuidv7 } from "@halyard/base";
import { isObject } from "../../protocol/checks.ts";
import type { AbsentMember, AbsentMembers } from "../../router/topics/absent-members.ts";
import type { DurableKeyValues } from "./platform.ts";

const KEY_PREFIX = "halyard:absent:";

export class AbsenceStore implements AbsentMembers {
  readonly #storage: DurableKeyValues;
  /** The storage key of each member, by topic and key. Their names may be longer than a storage key. */
  readonly #keys = new Map<string, string>();

  constructor(storage: DurableKeyValues) {
    this.#storage = storage;
  }

  put(absent: AbsentMember): void {
    const name = nameOf(absent.topic, absent.member.key);
    const key = this.#keys.get(name) ?? `${KEY_PREFIX}${uuidv7()}`;
    this.#keys.set(name, key);
    this.#storage.put(key, absent);
  }

  delete(topic: string, key: string): void {
    const name = nameOf(topic, key);
    const stored = this.#keys.get(name);
    if (stored === undefined) return;
    this.#keys.delete(name);
    this.#storage.delete(stored);
  }

  all(): Iterable<AbsentMember> {
    const members: AbsentMember[] = [];
    for (const [key, value] of this.#storage.list({ prefix: KEY_PREFIX })) {
      if (!isAbsentMember(value)) continue;
      this.#keys.set(nameOf(value.topic, value.member.key), key);
      members.push(value);
    }
    return members;
  }
}

function nameOf(topic: string, key: string): string {
  return JSON.stringify([topic, key]);
}

/** The application can write to the storage too. */
function isAbsentMember(value: unknown): value is AbsentMember {
  if (!isObject(value) || !isObject(value["member"])) return false;
  const { topic, member, leavesAt, maxMembers, leaveGraceMs } = value as Record<string, unknown> &
    AbsentMember;
  return (
    typeof topic === "string" &&
    typeof member.key === "string" &&
    [leavesAt, maxMembers, leaveGraceMs].every(Number.isFinite)
  );
}
