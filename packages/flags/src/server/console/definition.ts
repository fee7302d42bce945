/** What an operation of the console is: only the console reaches it, under `/feature-flags/console/<name>`. */
import type { OperationAction } from "../access/actions.ts";
import type { Call, GuardedCall } from "../call.ts";

interface Definition<Action extends OperationAction, RunCall> {
  readonly action: Action;
  run(call: RunCall): Promise<unknown>;
}

/** An operation that needs a permission. The body is its input. */
export type ConsoleOperation = Definition<GuardedCall["operation"]["action"], GuardedCall>;
/** An operation for everyone who opens the console. */
export type PublicConsoleOperation = Definition<"public", Call>;
