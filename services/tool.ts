// What the tools have in common: programs that tests run themselves.

import { installPackages } from "./apt.ts";
import { type Environment, mayProvide, setting } from "./settings.ts";
import { exclusively } from "./state.ts";

export interface ToolProvision {
  readonly where: string;
  readonly version: string;
  /** Where it comes from, for display. */
  readonly provider: string;
}

export interface Tool {
  readonly name: "bun" | "workerd" | "chromium";
  /** The Debian packages with it. Empty when npm installs it. */
  readonly packages: readonly string[];
  /** The variable that names the program. When it is set, no other is searched or installed. */
  readonly pathVariable?: string;
  /** Rejects with the remedy when the tool is missing or does not run. */
  find(env: Environment): Promise<ToolProvision>;
}

/** The tool, installed from Debian's packages if it is missing and that is possible. */
export async function ensureTool(tool: Tool, env: Environment): Promise<ToolProvision> {
  try {
    return await tool.find(env);
  } catch (error) {
    const given = tool.pathVariable !== undefined && setting(env, tool.pathVariable) !== undefined;
    if (given || tool.packages.length === 0 || !mayProvide(env)) throw error;
    const refusal = await exclusively(env, () => installPackages(tool.packages));
    if (refusal === undefined) return { ...(await tool.find(env)), provider: "installed by apt-get" };
    if (error instanceof Error) error.message += `\nIt could not be installed: ${refusal}.`;
    throw error;
  }
}
