/** Routes upgrades in a worker: finds the room in the request and forwards it to the room's Durable Object. */
import { CLOSE } from "../protocol/control.ts";
import { negotiate, offeredProtocols } from "../protocol/handshake.ts";
import { checkOptionNames } from "../protocol/option-names.ts";

/** The members of a Durable Object namespace that this file uses, such as `env.ROOM` or `env.ROOM.jurisdiction("eu")`. */
export interface RoomNamespace {
  /** The object with this name. */
  getByName(
    name: string,
    options?: { readonly locationHint?: string },
  ): { fetch(request: Request): Promise<Response> };
}

/** The options of `createRoomRoutes`. */
export interface RoomRoutesOptions {
  /**
   * The pathname of rooms, with `:room` as one whole segment; or a function that returns the room's name for a request,
   * and `undefined` for requests that are not for rooms. Default `/rooms/:room`.
   */
  readonly path?: string | ((url: URL, request: Request) => string | undefined);
  /**
   * The pattern of the whole room name, which has at most 256 characters in any case. Default: 1 to 64 letters, digits
   * and `. _ ~ : -`.
   */
  readonly roomPattern?: RegExp;
  /**
   * Whether the room exists. A request for a new name creates a Durable Object, so check here when callers may not
   * create rooms. Default: every name that matches is a room.
   */
  readonly isRoom?: (room: string, request: Request) => boolean | Promise<boolean>;
  /** The name of the room's Durable Object. Default: the room's name. Other names split a room over several objects. */
  readonly objectName?: (room: string, request: Request) => string;
  /** Where the room's object is created, such as `weur`; has an effect only for its first request. */
  readonly locationHint?: (room: string, request: Request) => string | undefined;
}

/** The routes of a worker to its rooms. */
export interface RoomRoutes {
  /** The room of a request; undefined if it is not for a room, or the name is not allowed. */
  roomOf(request: Request): string | undefined;
  /**
   * Forwards an upgrade unchanged to its room's object, which checks origin and token. Resolves to undefined when the
   * request is not for a room, so that the worker can handle it.
   */
  fetch(request: Request, namespace: RoomNamespace): Promise<Response | undefined>;
}

/** The members of a worker's socket that this file uses. */
interface WorkerSocket {
  accept(): void;
  close(code: number, reason: string): void;
}

declare const WebSocketPair: new () => { 0: WorkerSocket; 1: WorkerSocket };

const DEFAULT_PATH = "/rooms/:room";
const DEFAULT_PATTERN = /[\w.~:-]{1,64}/;
const MAX_ROOM_LENGTH = 256;

/**
 * Creates routes that forward upgrades to Durable Objects, one per room.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { createDurableObjectHandler, createRoomRoutes, type RoomNamespace } from "@halyard/wire/cloudflare";
 *
 * export class Room extends createDurableObjectHandler(createRouter()) {}
 *
 * const rooms = createRoomRoutes({ path: "/rooms/:room" });
 *
 * export default {
 *   async fetch(request: Request, env: { ROOM: RoomNamespace }): Promise<Response> {
 *     return (await rooms.fetch(request, env.ROOM)) ?? new Response("Not found.\n", { status: 404 });
 *   },
 * };
 * ```
 */
export function createRoomRoutes(options: RoomRoutesOptions = {}): RoomRoutes {
  checkOptionNames<RoomRoutesOptions>("createRoomRoutes()", options, {
    path: true,
    roomPattern: true,
    isRoom: true,
    objectName: true,
    locationHint: true,
  });
  const { path = DEFAULT_PATH, isRoom, objectName, locationHint } = options;
  const find = typeof path === "function" ? path : matchPath(path);
  const pattern = whole(options.roomPattern ?? DEFAULT_PATTERN);
  const isAllowed = (room: string): boolean => room.length <= MAX_ROOM_LENGTH && pattern.test(room);

  return {
    roomOf(request) {
      const room = find(new URL(request.url), request);
      return room !== undefined && isAllowed(room) ? room : undefined;
    },
    async fetch(request, namespace) {
      const room = find(new URL(request.url), request);
      if (room === undefined) return undefined;
      if (request.headers.get("upgrade")?.toLowerCase() !== "websocket")
        return new Response("connect to a room with a WebSocket\n", { status: 426 });
      if (!isAllowed(room)) return refuse(request, 400, "this is not a valid room name");
      if (isRoom !== undefined && !(await isRoom(room, request)))
        return refuse(request, 404, "the room does not exist");
      const near = locationHint?.(room, request);
      const name = objectName?.(room, request) ?? room;
      const stub = namespace.getByName(name, near === undefined ? undefined : { locationHint: near });
      return stub.fetch(request);
    },
  };
}

/** Finds the segment at `:room`. A segment that cannot be decoded gives an empty name, which is refused. */
function matchPath(path: string): (url: URL) => string | undefined {
  // Encoded as in a URL.
  const expected = path.startsWith("/") ? new URL(`http://worker${path}`).pathname.split("/") : [];
  const variables = expected.filter((segment) => segment.includes(":"));
  if (variables.length !== 1 || variables[0] !== ":room" || /[?#]/.test(path))
    throw new TypeError(
      `The option path is "${path}", but it must be a pathname with exactly one segment ":room", such as "/rooms/:room".`,
    );
  const at = expected.indexOf(":room");
  return ({ pathname }) => {
    const segments = pathname.split("/");
    const isRoute =
      segments.length === expected.length &&
      expected.every((segment, index) => index === at || segment === segments[index]);
    return isRoute ? decode(segments[at] ?? "") : undefined;
  };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return "";
  }
}

/** Makes the expression match only the whole text, without state between calls. */
function whole({ source, flags }: RegExp): RegExp {
  return new RegExp(`^(?:${source})$`, flags.replaceAll(/[gmy]/g, ""));
}

/** Accepts and closes a wire client with a code, because a browser cannot read the status of a failed upgrade. */
function refuse(request: Request, status: number, reason: string): Response {
  const offered = offeredProtocols(request.headers.get("sec-websocket-protocol"));
  const { protocol, greets } = negotiate(offered, [], "bearer.");
  if (!greets || protocol === undefined) return new Response(`${reason}\n`, { status });
  const { 0: client, 1: socket } = new WebSocketPair();
  socket.accept();
  socket.close(CLOSE.policy, reason);
  const headers = { "sec-websocket-protocol": protocol };
  // `webSocket` is a member of ResponseInit on this platform.
  return new Response(null, { status: 101, headers, webSocket: client } as ResponseInit);
}
