/** Checks that the compared servers do the same work: their responses have the same bytes. */
import type { Target } from "../server.ts";
import type { Exchange } from "./world.ts";

const ASKED = 5;
const HEADERS = ["content-type", "cache-control", "pragma", "x-feature-flags-revision"];

/** The server's responses to the first requests, without times. Each is sent twice, because a cached caller may take another path. */
export async function askSome({ port }: Target, exchanges: readonly Exchange[]): Promise<string[]> {
  const answers: string[] = [];
  for (const { method, path, headers, body } of exchanges.slice(0, ASKED)) {
    for (let turn = 0; turn < 2; turn++) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
      const told = HEADERS.map((name) => response.headers.get(name)).join("\n");
      answers.push(`${response.status}\n${told}\n${withoutTimes(await response.text())}`);
    }
  }
  return answers;
}

function withoutTimes(text: string): string {
  return text.replace(/"evaluatedAt":"[^"]*"/, '"evaluatedAt":""');
}

/** By the name of the server. */
export function requireSameAnswers(answers: ReadonlyMap<string, readonly string[]>): void {
  const [first, ...others] = answers;
  if (first === undefined) return;
  for (const [name, list] of others) {
    const at = list.findIndex((answer, index) => answer !== first[1][index]);
    if (at === -1) continue;
    throw new Error(`${name} and ${first[0]} answer differently:\n${list[at]}\n\n${first[1][at]}`);
  }
}
