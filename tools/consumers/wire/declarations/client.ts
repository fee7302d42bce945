import { wsClient } from "@halyard/wire/client";
import { rpc, z } from "@halyard/wire/zod";

const Greet = rpc("GREET", { name: z.string() }, "GREETING", { text: z.string() });

export const client = wsClient({ url: "ws://localhost" });
export const greet = (name: string) => client.request(Greet, { name });
export const greeting = async () => (await greet("Ada")).meta;
export const heard = client.onGap(() => {});
export const state = client.state;
