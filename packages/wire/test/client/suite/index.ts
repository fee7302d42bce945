/** All tests of the client's suite. */
import type { Case } from "../kit.ts";
import { auth } from "./auth.ts";
import { connect } from "./connect.ts";
import { failures } from "./failures.ts";
import { messages } from "./messages.ts";
import { options } from "./options.ts";
import { queue } from "./queue.ts";
import { requests } from "./requests.ts";
import { states } from "./states.ts";

export const suite: readonly Case[] = [
  ...options,
  ...states,
  ...queue,
  ...requests,
  ...auth,
  ...messages,
  ...failures,
  ...connect,
];
