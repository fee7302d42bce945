/** The worker routes each connection to its room, and announcements to a room. */
import { users } from "@halyard/example-chat-node/users";
import { createRoomRoutes } from "@halyard/wire/cloudflare";
import type { Room } from "./room.ts";

export { Room } from "./room.ts";

/** In your own project, `npx wrangler types` generates it. */
interface Env {
  readonly ROOM: { getByName(name: string): Pick<Room, "fetch" | "announce"> };
}

const roomPattern = /[a-z0-9-]{1,32}/;
const rooms = createRoomRoutes({ path: "/rooms/:room", roomPattern });
const announcements = createRoomRoutes({ path: "/rooms/:room/announcements", roomPattern });

// A worker's entry point is its default export.
// biome-ignore lint/style/noDefaultExport: the platform requires it
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const room = announcements.roomOf(request);
    if (room !== undefined && request.method === "POST") return announce(request, env, room);
    return (await rooms.fetch(request, env.ROOM)) ?? new Response("Not found.\n", { status: 404 });
  },
};

async function announce(request: Request, env: Env, room: string): Promise<Response> {
  const token = request.headers.get("authorization")?.replace(/^Bearer /, "") ?? "";
  if (!users.has(token)) return new Response("Unknown token.\n", { status: 401 });
  const text = (await request.text()).trim();
  if (text === "" || text.length > 500)
    return new Response("An announcement has 1 to 500 characters.\n", { status: 400 });
  await env.ROOM.getByName(room).announce(text);
  return new Response(null, { status: 204 });
}
