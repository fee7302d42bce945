/** Starts the application, and prints the users who can sign in. */
import { startApp } from "./app.ts";
import { openDatabase } from "./database.ts";

const app = await startApp(openDatabase(process.env["DATABASE_URL"]), Number(process.env["PORT"] ?? 3000));

console.log(`The shop listens on ${app.origin}. Stop it with Ctrl+C.

Sign in on the page as
  ada@acme.example     owner of Acme
  bob@example.com      member of both organizations
  gil@globex.example   owner of Globex`);

process.once("SIGINT", () => void app.stop());
process.once("SIGTERM", () => void app.stop());
