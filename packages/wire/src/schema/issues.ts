/** The issues of a failed validation, in words for a server's errors and logs. */
import { WsError } from "../protocol/error.ts";

/** A peer may choose part of an issue's text, such as the name of an unknown key. */
const MAX_SUMMARY_LENGTH = 200;

/** The first issue in the details of the error, with its field, and how many more there are. */
export function summarizeIssues({ details }: WsError): string | undefined {
  const issues: unknown = details?.["issues"];
  if (!Array.isArray(issues) || issues.length === 0) return undefined;
  const [first, ...more] = issues as { path: string; message: string }[];
  if (first === undefined) return undefined;
  const text = `${first.path}${first.path && ": "}${first.message}`.slice(0, MAX_SUMMARY_LENGTH);
  return more.length === 0 ? text : `${text} (and ${more.length} more)`;
}

/** The same error with its first issue in the message. Use it for what a peer sent: issues may name fields. */
export function withIssue(thrown: unknown): unknown {
  const issue = WsError.isWsError(thrown) ? summarizeIssues(thrown) : undefined;
  if (issue === undefined || !WsError.isWsError(thrown)) return thrown;
  return new WsError(thrown.code, `${thrown.message.replace(/\.$/, "")}: ${issue}.`, thrown.details);
}
