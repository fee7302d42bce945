/** Starts the example, and prints the addresses and the sign-ins. */
import { startApp } from "./app.ts";
import { openDatabase } from "./database.ts";
import { PASSWORD, PEOPLE } from "./seed.ts";

console.log("Writing example data: 30 flags and 30 days of history.");
const app = await startApp(openDatabase(process.env["DATABASE_URL"]), Number(process.env["PORT"] ?? 3000));

console.log(`
Console  ${app.consoleUrl}
Shop     ${app.origin}

All people have the password "${PASSWORD}":
${PEOPLE.map(({ email, what }) => `  ${email.padEnd(24)} ${what}`).join("\n")}

Stop it with Ctrl+C.`);

process.once("SIGINT", () => void app.stop());
process.once("SIGTERM", () => void app.stop());
