/** Starts the application, and says who can sign in. */
import { startApp } from "./app.ts";
import { openDatabase } from "./database.ts";

const app = await startApp(openDatabase(process.env["DATABASE_URL"]), Number(process.env["PORT"] ?? 3000));

console.log(`The shop is open on ${app.origin}. Stop it with Ctrl+C.

Sign in on the page, as
  ada@acme.example     who runs Acme
  bob@example.com      who works for both organizations
  gil@globex.example   who runs Globex`);

process.once("SIGINT", () => void app.stop());
process.once("SIGTERM", () => void app.stop());
