import { useClient, useConnectionState, useRequest } from "@halyard/wire/react";
import { rpc, z } from "@halyard/wire/zod";

const Greet = rpc("GREET", { name: z.string() }, "GREETING", { text: z.string() });

export const useGreet = () => useRequest(Greet);
export const useWire = () => ({ client: useClient(), state: useConnectionState() });
