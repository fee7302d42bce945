/** The chat server in its own process, for the test. It prints its port in the format that the test expects. */
import "@halyard/example-chat-node/server";

console.log(JSON.stringify({ port: Number(process.env["PORT"]) }));
