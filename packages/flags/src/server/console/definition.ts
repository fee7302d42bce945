/** What an operation of the console is: only the console reaches it, under `/feature-flags/console/<name>`. */
import type { ConsoleAnswers } from "../../model/console.ts";
import type { OperationAction } from "../access/actions.ts";
import type { Call, GuardedCall } from "../call.ts";

interface Definition<Action extends OperationAction, RunCall, Name extends keyof ConsoleAnswers> {
  readonly action: Action;
  run(call: RunCall): Promise<ConsoleAnswers[Name]>;
}

/** An operation that needs a permission. The body is its input. */
export type ConsoleOperation<Name extends keyof ConsoleAnswers = keyof ConsoleAnswers> = Definition<
  GuardedCall["operation"]["action"],
  GuardedCall,
  Name
>;
/** An operation for everyone who opens the console. */
export type PublicConsoleOperation<Name extends keyof ConsoleAnswers = keyof ConsoleAnswers> = Definition<
  "public",
  Call,
  Name
>;
