/** Starts the application, and prints commands to try. */
import { startApp } from "./app.ts";
import { openDatabase } from "./database.ts";
import { PASSWORD } from "./seed.ts";

const app = await startApp(openDatabase(process.env["DATABASE_URL"]), Number(process.env["PORT"] ?? 3000));

console.log(`The application listens on ${app.origin}. Stop it with Ctrl+C.

All users have the password "${PASSWORD}":
  admin@example.com    admin of the application
  ada@acme.example     owner of Acme    ${app.organizations.acme}
  bob@acme.example     member of Acme
  gil@globex.example   owner of Globex  ${app.organizations.globex}

Sign in, read the page, and evaluate a flag:
  curl -c ada.jar -H 'content-type: application/json' ${app.origin}/api/auth/sign-in/email \\
    -d '{"email":"ada@acme.example","password":"${PASSWORD}"}'
  curl -b ada.jar ${app.origin}/
  curl -b ada.jar -H 'origin: ${app.origin}' -H 'content-type: application/json' \\
    ${app.origin}/api/auth/feature-flags/evaluate -d '{"flagKey":"new-editor"}'

The README has more commands: as bob, as gil and as the admin.`);

process.once("SIGINT", () => void app.stop());
process.once("SIGTERM", () => void app.stop());
