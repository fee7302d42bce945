/** A terminal client: `npm run client -w examples/chat-auth -- ada@example.com`. */
import { createInterface } from "node:readline";
import { openAccount } from "./account.ts";
import { Join, Said, Say, TeamChanged } from "./messages.ts";

const [email = "ada@example.com"] = process.argv.slice(2);
const { client, call } = openAccount(process.env["CHAT_URL"] ?? "http://localhost:3000");
const password = "example password";

async function signIn(): Promise<void> {
  const name = email.split("@", 1)[0] ?? email;
  await call("/sign-in/email", { email, password }).catch(() =>
    call("/sign-up/email", { email, password, name }),
  );
  await client.connect();
  console.log(`Signed in as ${email}. Commands: /team <name>, /out, /in, /quit. Any other line is sent.`);
}

async function handle(line: string): Promise<void> {
  const [command, argument = ""] = line.trim().split(/\s+/);
  if (command === "/quit") terminal.close();
  else if (command === "/in") await signIn();
  else if (command === "/out") await call("/sign-out");
  else if (command === "/team")
    await call("/organization/create", { name: argument, slug: argument.toLowerCase() });
  else if (line.trim() !== "") await client.request(Say, { text: line.trim() });
}

const attempt = (action: Promise<unknown>): void => {
  action.catch((error: Error) => console.log(`(${error.message})`));
};

client.on(Said, ({ from, text }) => console.log(`${from}: ${text}`));
client.on(TeamChanged, ({ team }) => {
  console.log(team === undefined ? "(You are in no team.)" : "(You are in another team.)");
  if (team !== undefined) attempt(client.request(Join));
});
// The server closed the connection, because the session has ended.
client.onSessionLost(() => console.log("(Signed out. Type /in to sign in again.)"));

const terminal = createInterface({ input: process.stdin });
terminal.on("line", (line) => attempt(handle(line)));
terminal.on("close", () => void client.close());
attempt(signIn());
