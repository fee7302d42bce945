/** What a user of @halyard/console may write, with the types they may rely on. Compiled against the packed tarball. */

import { createServer } from "node:http";
import { type Console, type ConsoleOptions, type ConsoleSession, createConsole } from "@halyard/console";
import { featureFlags } from "@halyard/flags";
import { betterAuth } from "better-auth";
import { admin } from "better-auth/plugins";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function assertEqual<A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void {}

const auth = betterAuth({ plugins: [admin(), featureFlags()] });
const options: ConsoleOptions = { basePath: "/admin/flags", signInUrl: "/sign-in" };
const flagsConsole = createConsole(auth, options);
assertEqual<typeof flagsConsole, Console>();
// @ts-expect-error a console needs its path
createConsole(auth, {});

export const server: unknown = createServer((request, response) => void flagsConsole.node(request, response));
export const page: Promise<Response> = flagsConsole.fetch(new Request("http://localhost/admin/flags"));
export const nameOf = ({ user }: ConsoleSession): string | undefined => user?.name;
