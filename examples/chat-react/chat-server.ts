/** The chat server as a process of its own, for the test: it says its port the way the test waits for it. */
import "@halyard/example-chat-node/server";

console.log(JSON.stringify({ port: Number(process.env["PORT"]) }));
