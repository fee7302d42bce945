/** The log lines of wire with their causes, and the parts of log lines that are no line of their own. */

import type { LogEntry } from "./entries.ts";

export const LOGS: readonly LogEntry[] = [
  {
    text: "The heartbeat is off: dead peers are detected …",
    why: "The router option `heartbeat` is not set, so the server notices a vanished peer late. The line appears in production only.",
    todo: "Set `heartbeat` on the router, as in [Production](wire-operations.md).",
  },
  {
    text: "A message that its peer does not finish has no limit of …",
    why: "The limits rely on parts of `ws` that the installed version does not have. The first server of a process tries them. Only `maxPayloadBytes` and the limits of `ws` itself apply.",
    todo: "Install the version of `ws` that the line names, or a newer version of `@halyard/wire`.",
  },
  {
    text: "… Refusals for this reason are logged at most once per minute.",
    why: "This ends every line about a refused upgrade, so that an attacker cannot fill the log.",
    todo: "Read the beginning of the line; each has an entry on this page.",
  },
  {
    text: "An upgrade was refused (4403): its Host header is …",
    why: "The option `allowedHosts` is set, and the request names another host. Health checks by IP address are a common cause.",
    todo: "Add the host to `allowedHosts` if it is yours.",
  },
  {
    text: "An upgrade was refused (404): its path is …",
    why: "The client's URL has another path than the option `path` of the server. The client sees only close code 1006, or status 404.",
    todo: "Correct the `url` of the client, or the option `path`. If the proxy changes the path, correct the proxy.",
  },
  {
    text: "An upgrade was refused (4403): it has cookies but no Origin header.",
    why: "Browsers always send `Origin`. A program that sends cookies without it could be an attack.",
    todo: "Let programs authenticate with a token instead of cookies.",
  },
  {
    text: "An upgrade was refused (4403): its origin …",
    why: "The page's origin differs from the server's host. In development, pages of `localhost` may connect from every port, unless a proxy forwarded the request.",
    todo: "Add the origin to `allowedOrigins`, such as `https://app.example.com`. See [Connection checks](connection-checks.md#origin-check).",
  },
  {
    text: "A login was refused (4401): authenticate returned undefined.",
    why: "`authenticate` did not accept the caller. The line reports whether the request had a token.",
    todo: "Check the client option `auth`, and the place of the token in the serve option `token`.",
  },
  {
    text: "A login was refused (4401): authenticate returned … Return",
    why: "`authenticate` returned a value that is not an object, such as `true` or `null`.",
    todo: "Return an object with the connection's data, or `undefined` to refuse the caller.",
  },
  {
    text: "A login was refused (…): authenticate threw …",
    why: "`authenticate` threw an error. The log has the class, code and place of the error and of its cause. It omits their messages, which may contain a token.",
    todo: "Read the whole error in the serve option `onError`. `caused by BetterAuthError SCHEMA_MISMATCH` means that a migration did not run.",
  },
  {
    text: "A login was refused (1013): authenticate did not settle within …",
    why: "`authenticate` waited too long for a database or another service.",
    todo: "Give the calls in `authenticate` a timeout that is shorter than `handshakeTimeoutMs`.",
  },
  {
    text: "createNodeHandler() has no option path, but its HTTP server has …",
    why: "Several libraries listen for upgrades on one HTTP server, such as Vite or Socket.IO.",
    todo: "Set the option `path`. See [Node](node.md).",
  },
  {
    text: "Another listener for upgrades on the same HTTP server ended the socket of an upgrade of …",
    why: "Socket.IO and Engine.IO end upgrades that are not theirs after 1 s.",
    todo: "Set their option `destroyUpgrade` to `false`.",
  },
  {
    text: "The option log of logger() failed.",
    why: "The promise that your function `log` returned was rejected.",
    todo: "Handle the error in the function. The message was answered.",
  },
  {
    text: "… connections were closed with unanswered requests or unsent bytes.",
    why: "The shutdown reached `drainTimeoutMs` before all requests had a response.",
    todo: "Raise `drainTimeoutMs` above your longest request.",
  },
  {
    text: "The … dropped a message on topic …",
    why: "A message from Redis or NATS is too large, or another application uses the same prefix.",
    todo: "Give every application its own `prefix`. `status.refused` counts further messages.",
  },
  {
    text: "The … lost … of … subscriptions: …",
    why: "The connection to Redis or NATS was lost, or a slot of the Redis Cluster moved.",
    todo: "Check the broker. Subscribers receive a `$ws:gap`, and the process subscribes again by itself. See [Scaling](scaling.md).",
  },
  {
    text: "The … restored … subscriptions.",
    why: "The connection to the broker is back.",
    todo: "Nothing. Clients that handle gaps have fetched what they missed.",
  },
  {
    text: "… failed…:",
    why: "A handler, middleware or hook threw an error, and the router has no `onError` hook.",
    todo: "Correct the error behind the line, or handle errors with `router.onError()`.",
  },
  {
    text: "No handler is registered for message type …",
    why: "A client sent a type that this router does not know. The line appears in development only.",
    todo: "Register a handler with `router.on()` or `router.rpc()`.",
  },
  {
    text: "A client cancelled its request … before the response.",
    why: "The page aborted the request, left its loop, or removed the component that made it. The line appears once per type, in development only.",
    todo: "Nothing, if that was meant. A handler that should stop reads `ctx.abortSignal`. A page that should let the request finish does not abort it.",
  },
  {
    text: "The pub/sub failed to publish a message:",
    why: "Redis or NATS did not accept a published message. Subscribers on other processes miss it.",
    todo: "Check the broker. To handle the failure in code, read the result of `publish`.",
  },
  {
    text: "A published message reaches no client: no client is connected to this router in this process, and its pub/sub has no broker.",
    why: "A bundler such as Next.js made a second copy of the module that creates the router, or a script publishes without the broker of the servers.",
    todo: "Create the router once, see [Next.js](node-http-server.md#nextjs). In a script, use [`createPublisher`](pubsub.md#publish-from-a-script) with the same broker.",
  },
  {
    text: "The channel … is not registered, so no connection is a member: route().in() refuses every caller, and ctx.joined() returns false.",
    why: "A message is limited to members of a channel that the router does not have.",
    todo: "Register it with `router.channel()`, or merge the router that does.",
  },
  {
    text: "… is registered twice on one router; the later handler replaces the earlier one.",
    why: "Two modules register a handler for the same message.",
    todo: "Remove one of them, or call `router.off()` first.",
  },
  {
    text: "The handler of … finished without a response, so its caller waits until the deadline.",
    why: "The handler of a request neither returned a response nor called `ctx.reply()` or `ctx.error()`.",
    todo: "Return the response on every path through the handler.",
  },
  {
    text: "createMetrics() exports nothing to OpenTelemetry, because @opentelemetry/api is not installed.",
    why: "The option `openTelemetry` is set, and its optional peer is missing.",
    todo: "Run `npm install @opentelemetry/api`, or remove the option.",
  },
  {
    text: "telemetry() does nothing, because @opentelemetry/api is not installed.",
    why: "The middleware `telemetry` is in use, and its optional peer is missing.",
    todo: "Run `npm install @opentelemetry/api`, or remove the middleware.",
  },
  {
    text: "… … in … ms client=……",
    why: "The middleware `logger` writes this line for every message.",
    todo: "Nothing. Pass your own function in its option `log` to change the format.",
  },
  {
    text: "Cannot connect to …: …",
    why: "The server is not running, or host, port or path is wrong. Browsers report only close code 1006 for both.",
    todo: "Check the address and that the server runs. On Node, the socket of `ws` reports the cause; see [Client](client.md).",
  },
  {
    text: "Check host, port and path, and that the server is running.",
    why: "This ends the line above when the server sent no reason.",
    todo: "Open the address with `http` instead of `ws`: a running server answers.",
  },
  {
    text: "The server refused the login: sign in again, or check the token.",
    why: "The server closed with 4401: `authenticate` did not accept the caller, or the session has ended, as after a sign-out.",
    todo: "Sign in, then call `connect()`. After a sign-out nothing is wrong: a callback of `client.onError` replaces the warning. The server's log has the reason of a refusal.",
  },
  {
    text: "The server answered, but cannot take this client now: see the log of the server.",
    why: "The server closed with 1012 or 1013: it restarts, has no place, or could not check the caller because the session store did not respond.",
    todo: "Nothing, if it passes: the client tries again. Otherwise read the server's log. A common cause in a new project is a migration that did not run.",
  },
  {
    text: "The server refused this client: check its allowedOrigins and the user's permissions.",
    why: "The server closed with 4403: it does not allow the origin, the host or the user.",
    todo: "Add the page's origin to the server's `allowedOrigins`.",
  },
  {
    text: "The connection to … was lost: …",
    why: "The network failed, the server restarted, or a proxy closed an idle connection.",
    todo: "Nothing: the client reconnects. If connections end at the same age, raise the timeout of the proxy or set `heartbeat`.",
  },
  {
    text: "The client was closed.",
    why: "The program called `close()` while requests were pending.",
    todo: "Wait for the requests before you close, or handle the error.",
  },
  {
    text: '… arrives only in the room of the channel "…", and only a handler of the client waits for it. Use joinChannel(…).on() or useChannelEvent().',
    why: "`client.on()` or `useMessage()` is registered for an event of a channel, which they do not receive.",
    todo: "Register the handler in the room; it also gets the messages that the room holds. See [Channels](channels.md#handlers-and-held-messages).",
  },
  {
    text: "The server did not answer the request for members. Call memberPage() again once joined.",
    why: "The connection was lost, or the server took longer than 30 s.",
    todo: "Call `memberPage()` again once the room is joined.",
  },
  {
    text: "The call was not started: … Start it again.",
    why: "The connection was lost, or the broker was away, before the durable call existed. The client does not send a request twice.",
    todo: "Start it again; see [Durable calls](durable-calls.md).",
  },
  {
    text: "The first argument is not a client of wire. Pass what wsClient() returned.",
    why: "`joinChannel()`, `startCall()`, `attachCall()` or `handle()` got something else.",
    todo: "Pass the result of `wsClient()`.",
  },
  {
    text: "WireProvider received … different clients within … s. A component creates the client while it renders, and each new one connects again. Create it once, outside of components.",
    why: "Each render passes another client, so the provider closes one connection and opens the next.",
    todo: "Create the client at the top of a module, or in an event handler and keep it in state; see [React](react.md#provider).",
  },
  {
    text: "… was cancelled, because its component unmounted. Leave out cancelOnUnmount to let such a request finish.",
    why: "`useRequest()` has `cancelOnUnmount: true`, and its component unmounted before the response. Only development says it.",
    todo: "Nothing for results that only this component shows. For a request that writes, leave the option out.",
  },
  {
    text: "This component has no wire client. Render it inside <WireProvider client={…}>.",
    why: "A hook ran in a component without a `WireProvider` above it.",
    todo: "Render the component inside `WireProvider`; see [React](react.md#provider).",
  },
  {
    text: "The response … is above maxPayloadBytes of the server (…). Return less.",
    why: "A handler of the client, made by `handle()`, returned more than the server accepts.",
    todo: "Return less, or raise `maxPayloadBytes` of the server.",
  },
  {
    text: "leave() was called.",
    why: "The program left a channel before it had joined, so `room.joined` rejects.",
    todo: "Nothing, or handle the error of `room.joined`.",
  },
  {
    text: "The url … is not valid.",
    why: "The option `url` has no scheme, or is relative outside of a page.",
    todo: "Begin it with `ws://`, `wss://`, `http://` or `https://`.",
  },
  {
    text: "getToken failed.",
    why: "Your function `getToken` threw or rejected. The error has the original as its `cause`.",
    todo: "Correct the function, or the request that it makes. The client tries again with the next attempt to connect.",
  },
  {
    text: "The token has characters not allowed in a subprotocol.",
    why: "The client sends the token in the header `Sec-WebSocket-Protocol`, which allows few characters.",
    todo: "Encode the token, for example as base64url, or attach it to the query.",
  },
  {
    text: "The socket could not be created: …",
    why: "The constructor of the WebSocket threw, for example because a page on `https:` opened `ws:`.",
    todo: "Use `wss:` in pages on `https:`, and check the option `url`.",
  },
  {
    text: "… waits in the queue: … Call connect() to send it.",
    why: "The program sent a message before `connect()` or after `close()`.",
    todo: "Call `connect()`.",
  },
  {
    text: "… was not sent: ……",
    why: "The client dropped a message. The line gives the reason, such as a full queue or a size limit.",
    todo: "Send fewer or smaller messages, or change the queue's options; see [Client](client.md).",
  },
  {
    text: "it is larger than the server's limit",
    why: "The message is larger than the `maxPayloadBytes` of the server.",
    todo: "Send it in parts, or raise the limit of the server.",
  },
  {
    text: "the socket's buffer is full",
    why: "The network is slower than the program sends.",
    todo: "Send less, or wait before you send more. The buffer holds 16 MiB.",
  },
  {
    text: "the queue is full",
    why: "The client is not connected, and its queue has reached `queueSize`.",
    todo: "Raise `queueSize`, or drop messages that are no longer needed.",
  },
  {
    text: "there is no open connection",
    why: "The queue is off, and the client is not connected.",
    todo: "Wait for the state `open`, or turn the queue on.",
  },
  {
    text: "the client is closed",
    why: "The program called `close()` before it sent the message.",
    todo: "Send before you close, or call `connect()` again.",
  },
  {
    text: "No … within … ms",
    why: "No connection, or no response to a request, came before the timeout.",
    todo: "Check that the server runs and that its handler responds. Raise `timeoutMs` if the work takes longer.",
  },
  {
    text: "The request was not sent, because the client is not connected.",
    why: "The timeout of a request passed while the client had no connection.",
    todo: "Call `connect()` first, and check the connection's state.",
  },
  {
    text: "The caller cancelled it.",
    why: "The program aborted the request with its signal.",
    todo: "Nothing, if the cancellation was intended.",
  },
  {
    text: "… requests are already pending.",
    why: "The client has reached `pendingRequestsLimit`.",
    todo: "Wait for responses, or raise `pendingRequestsLimit`.",
  },
  {
    text: "Request … is already pending.",
    why: "Two requests use the same `correlationId`.",
    todo: "Leave `correlationId` out, or use a different one for each request.",
  },
  {
    text: "… is not a message schema.",
    why: "The program passed the name of a message instead of its schema.",
    todo: "Pass the value that `message()` or `rpc()` returned.",
  },
  {
    text: "The response to … is …, but its schema expects …",
    why: "Client and server use different schemas.",
    todo: "Build both from the same schemas. See [Changing messages safely](changing-messages.md).",
  },
  {
    text: "The schema of … has no response.",
    why: "The program sent an event with `request()`.",
    todo: "Declare a response, or use `send()`.",
  },
  {
    text: '"meta.…" is not valid: it must be …',
    why: "A field of `meta` has the wrong type.",
    todo: "Use a string of 1 to 128 characters for `correlationId`, and finite numbers for times.",
  },
  {
    text: "Close with 1000 or 3000 to 4999, and at most 123 bytes of reason.",
    why: "The WebSocket standard allows only these close codes and this length.",
    todo: "Change the arguments of `close()`.",
  },
  {
    text: "The frame is not a JSON object with a type.",
    why: "The server behind this address does not speak wire's protocol.",
    todo: "Check the address. Other programs must follow the [protocol](../protocol.md).",
  },
  {
    text: "The frame has an unknown key. Set unknownKeys",
    why: "The server sends a newer form of the message than the client knows.",
    todo: 'Update the client, or set `unknownKeys: "strip"`.',
  },
  {
    text: "Change the message, or its schema on both sides.",
    why: "This ends an error about a message that does not match its schema.",
    todo: "Read `error.details.issues`, which lists the fields.",
  },
  {
    text: "Use the same schema on both sides, or set unknownKeys",
    why: "This ends an error about a received message that does not match its schema.",
    todo: "Deploy both sides from the same schemas.",
  },
];

export const PARTS: readonly string[] = [
  "only by TCP keep-alive",
  "only when a write to them fails",
  "connect() was not called.",
  "of … bytes",
  "a string of 1 to 128 characters",
  "a finite number",
  "close code ……",
  "no response",
];
