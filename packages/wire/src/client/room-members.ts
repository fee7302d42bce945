/** The members of a joined channel, as the server tells them. */
import type { Envelope } from "../protocol/envelope.ts";
import type { AnyMember, MemberPage, MemberPageOptions } from "../schema/channel.ts";
import { DEFAULT_REQUEST_TIMEOUT_MS } from "./bounds.ts";
import type { ClientCore } from "./core.ts";
import { later } from "./environment.ts";
import { only } from "./failures.ts";
import { type Listeners, listeners } from "./listeners.ts";
import { text } from "./texts.ts";

type Fields = Record<string, unknown>;

export interface RoomMembers {
  readonly list: readonly AnyMember[];
  readonly count: number;
  readonly isPartial: boolean;
  readonly changes: Listeners<[members: readonly AnyMember[]]>;
  /** Applies `$ws:joined` or `$ws:members`. */
  update(fields: Fields): void;
  page(options?: MemberPageOptions): Promise<MemberPage>;
  /** Whether the frame is the response to a request for a page. */
  answered(frame: Envelope): boolean;
  /** The connection was lost, or the channel was left. */
  lost(): void;
}

export function createRoomMembers(core: ClientCore, place: object, nextId: () => string): RoomMembers {
  const changes = listeners<[members: readonly AnyMember[]]>(core.thrown);
  const pages = new Map<string, (fields: Fields | undefined, isError?: boolean) => void>();
  const byKey = new Map<string, AnyMember>();
  let list: readonly AnyMember[] = [];
  let count = 0;
  let isPartial = false;

  return {
    get list() {
      return list;
    },
    get count() {
      return count;
    },
    get isPartial() {
      return isPartial;
    },
    changes,
    update(fields) {
      const { members, joined, left } = fields;
      const total = only("number", fields["count"]);
      if (Array.isArray(members) || total !== undefined) byKey.clear();
      for (const member of [members, joined].flatMap(membersIn)) byKey.set(member.key, member);
      for (const key of Array.isArray(left) ? left : []) byKey.delete(key);
      list = [...byKey.values()];
      count = total ?? list.length;
      isPartial = fields["partial"] === true;
      changes.emit(list);
    },
    page(options) {
      return new Promise((resolve, reject) => {
        const id = nextId();
        const settle = (fields: Fields | undefined, isError?: boolean): void => {
          cancel();
          pages.delete(id);
          if (fields && !isError) resolve(fields as unknown as MemberPage);
          else reject(fields ? core.errorIn(fields) : core.failure("UNAVAILABLE", text("members")));
        };
        const cancel = later(core.environment, () => settle(undefined), DEFAULT_REQUEST_TIMEOUT_MS);
        pages.set(id, settle);
        if (!core.sendControl("$ws:members", { ...place, ...options }, { correlationId: id }))
          settle(undefined);
      });
    },
    answered({ type, meta, payload }) {
      const settle = pages.get(meta.correlationId ?? "");
      settle?.(only("object", payload) ?? {}, type === "$ws:error");
      return settle !== undefined;
    },
    lost() {
      for (const settle of [...pages.values()]) settle(undefined);
    },
  };
}

/** The fields of a frame are not trusted. */
function membersIn(value: unknown): readonly AnyMember[] {
  return Array.isArray(value)
    ? value.filter((member) => typeof only("object", member)?.["key"] === "string")
    : [];
}
