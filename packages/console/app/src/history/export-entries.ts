/** Saves the whole log as a file of JSON lines, oldest entry first, as the rule of its hashes needs it. */
import { CONSOLE, scoped } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { ExportAuditResponse, Sent } from "../api/types.ts";

/** Returns the number of entries. */
export async function exportEntries(): Promise<number> {
  const lines: string[] = [];
  let after: number | undefined = 0;
  while (after !== undefined) {
    const page: Sent<ExportAuditResponse> = await request("POST", `${CONSOLE}/export-audit`, {
      body: scoped({ after }),
    });
    lines.push(...page.entries.map((entry) => JSON.stringify(entry)));
    after = page.next;
  }
  save(`${lines.join("\n")}\n`, `flags-audit-${new Date().toISOString().slice(0, 10)}.jsonl`);
  return lines.length;
}

function save(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
