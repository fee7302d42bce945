/** The worker before the objects: which room an upgrade is for, and so which Durable Object it goes to. */
import { CLOSE } from "../protocol/control.ts";
import { negotiate, offeredProtocols } from "../protocol/handshake.ts";

/** The members of a Durable Object namespace that are used here: `env.ROOM`, or `env.ROOM.jurisdiction("eu")`. */
export interface RoomNamespace {
  getByName(
    name: string,
    options?: { readonly locationHint?: string },
  ): { fetch(request: Request): Promise<Response> };
}

export interface RoomRoutesOptions {
  /**
   * Where rooms are: a pathname of which `:room` is one whole segment, or a function that finds the room's name in a
   * request and gives `undefined` for requests that are not for rooms. Default `/rooms/:room`.
   */
  readonly path?: string | ((url: URL, request: Request) => string | undefined);
  /**
   * What all of a room's name must match. At most 256 characters, whatever it says. Default: 1 to 64 letters, digits and
   * `. _ ~ : -`.
   */
  readonly roomPattern?: RegExp;
  /**
   * Says whether there is such a room. Whoever names a room makes an object, so ask here if not everybody may. Default:
   * every name that matches is one.
   */
  readonly isRoom?: (room: string, request: Request) => boolean | Promise<boolean>;
  /** The name of the room's object. Default: the room's own. Another one splits a room over several objects. */
  readonly objectName?: (room: string, request: Request) => string;
  /** Near where the room's object is made, such as `weur`; counts only for its first request. */
  readonly locationHint?: (room: string, request: Request) => string | undefined;
}

export interface RoomRoutes {
  /** The room a request is for; undefined if it is for none, or the name is not allowed. */
  roomOf(request: Request): string | undefined;
  /**
   * Sends an upgrade on to its room's object, unchanged: what is refused there by origin or token is answered as there.
   * Undefined when the request is not for a room, so that you may answer it.
   */
  fetch(request: Request, namespace: RoomNamespace): Promise<Response | undefined>;
}

/** The members of a worker's own end of a socket that are used here. */
interface WorkerSocket {
  accept(): void;
  close(code: number, reason: string): void;
}

declare const WebSocketPair: new () => { 0: WorkerSocket; 1: WorkerSocket };

const DEFAULT_PATH = "/rooms/:room";
const DEFAULT_PATTERN = /[\w.~:-]{1,64}/;
const MAX_ROOM_LENGTH = 256;

/**
 * Sends upgrades to Durable Objects, one for each room.
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
        return new Response("a room is reached by WebSocket\n", { status: 426 });
      if (!isAllowed(room)) return refuse(request, 400, "this is not the name of a room");
      if (isRoom !== undefined && !(await isRoom(room, request)))
        return refuse(request, 404, "there is no such room");
      const near = locationHint?.(room, request);
      const name = objectName?.(room, request) ?? room;
      const stub = namespace.getByName(name, near === undefined ? undefined : { locationHint: near });
      return stub.fetch(request);
    },
  };
}

/** Finds the segment that `:room` stands for. A name that is not text when decoded is no name, and refused as one. */
function matchPath(path: string): (url: URL) => string | undefined {
  // As addresses have it: with what is not ASCII encoded.
  const wanted = path.startsWith("/") ? new URL(`http://worker${path}`).pathname.split("/") : [];
  const variables = wanted.filter((segment) => segment.includes(":"));
  if (variables.length !== 1 || variables[0] !== ":room" || /[?#]/.test(path))
    throw new TypeError(`The option path is "${path}"; it takes a pathname with one segment :room.`);
  const at = wanted.indexOf(":room");
  return ({ pathname }) => {
    const segments = pathname.split("/");
    const isRoute =
      segments.length === wanted.length &&
      wanted.every((segment, index) => index === at || segment === segments[index]);
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

/** Holds for the whole text only, and from its start each time, however the expression was written. */
function whole({ source, flags }: RegExp): RegExp {
  return new RegExp(`^(?:${source})$`, flags.replaceAll(/[gmy]/g, ""));
}

/** A browser cannot see the status of a failed upgrade, so a client of ours is accepted and closed with a code. */
function refuse(request: Request, status: number, reason: string): Response {
  const offered = offeredProtocols(request.headers.get("sec-websocket-protocol"));
  const { protocol, greets } = negotiate(offered, [], "bearer.");
  if (!greets || protocol === undefined) return new Response(`${reason}\n`, { status });
  const { 0: client, 1: socket } = new WebSocketPair();
  socket.accept();
  socket.close(CLOSE.policy, reason);
  const headers = { "sec-websocket-protocol": protocol };
  // `webSocket` is the platform's own member of ResponseInit.
  return new Response(null, { status: 101, headers, webSocket: client } as ResponseInit);
}
