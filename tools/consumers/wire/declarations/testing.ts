import { createTestServer } from "@halyard/wire/testing";
import { createRouter } from "@halyard/wire/zod";

export const server = createTestServer(createRouter());
export const peer = () => server.connect();
export const frames = async () => (await peer()).frames;
export const closed = async () => (await peer()).closedWith;
export const clock = server.clock;
