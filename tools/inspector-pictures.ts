/** Pictures of the inspector, beside the chat of the examples with a few people in it. */

import { join } from "node:path";
import { createInspector } from "@halyard/devtools/inspector";
import type { launchChromium } from "@halyard/services";
import { joinChannel, wsClient } from "@halyard/wire/client";
import { serve } from "@halyard/wire/node";
import { createChat } from "../examples/chat-node/chat.ts";
import { Hints, Room, Say, Typing } from "../examples/chat-node/messages.ts";

interface Look {
  readonly name: string;
  readonly theme: "light" | "dark";
  readonly width: number;
  readonly height: number;
}

const ROOMS = ["general", "harbour", "sails"];
const PEOPLE = ["ada", "bob", "chloe", "dan", "eve", "finn"];

/** `fileOf` gives the path of each picture. */
export async function takeInspectorPictures(
  browser: Awaited<ReturnType<typeof launchChromium>>,
  looks: readonly Look[],
  fileOf: (look: Look) => string,
): Promise<void> {
  const { router, authenticate } = createChat(new Map(PEOPLE.map((name) => [name, name])));
  const inspector = createInspector(router, { enabled: true });
  const address = await inspector.listen({ port: 0 });
  const server = await serve(router, { port: 0, host: "localhost", handleSignals: false, authenticate });
  const clients = PEOPLE.map((name) =>
    wsClient({
      url: `ws://localhost:${server.port}`,
      auth: { getToken: () => name, attach: "protocol" },
    }),
  );
  try {
    for (const [at, client] of clients.entries()) {
      await client.connect();
      const room = ROOMS[at % ROOMS.length] ?? "";
      await joinChannel(client, Room, { room }).joined;
      await joinChannel(client, Hints, { room }).joined;
      client.send(Typing, { room });
      await client.request(Say, { room, text: "Ahoy, is the wind turning?" });
    }
    await clients[0]?.request(Say, { room: "sails", text: "Not a member" }).catch(() => undefined);
    for (const look of looks) {
      const { theme, width, height } = look;
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: theme,
        locale: "en-GB",
      });
      const page = await context.newPage();
      page.on("pageerror", ({ message }) => console.error(message));
      await page.goto(address);
      await page.getByText("Live", { exact: true }).waitFor();
      // The rates show whole seconds, and the first one has to pass.
      for (let at = 0; at < 12; at++) {
        const client = clients[at % clients.length];
        await client?.request(Say, { room: ROOMS[at % ROOMS.length] ?? "", text: `Message ${at}` });
        await page.waitForTimeout(150);
      }
      await page.screenshot({ path: fileOf(look) });
      await context.close();
    }
  } finally {
    await Promise.all(clients.map((client) => client.close()));
    await server.stop();
    await inspector.stop();
  }
}

export function inspectorFile(folder: string | undefined, images: string, look: Look): string {
  return folder === undefined ? join(images, "inspector.png") : join(folder, `inspector-${look.name}.png`);
}
