// What the tools have in common: programs that are installed or not, and that tests run themselves.

import { installPackages } from "./apt.ts";
import { type Environment, mayProvide, setting } from "./settings.ts";
import { exclusively } from "./state.ts";

export interface ToolProvision {
  readonly where: string;
  readonly version: string;
  /** How it is provided, for people. */
  readonly provider: string;
}

export interface Tool {
  readonly name: "bun" | "workerd" | "chromium";
  /** Debian's packages that bring it; empty when npm does. */
  readonly packages: readonly string[];
  /** The variable that names the program to use; when it is set, no other is looked for or installed. */
  readonly pathVariable?: string;
  /** Rejects with the remedy when the tool is missing or does not run. */
  find(env: Environment): Promise<ToolProvision>;
}

/** The tool, installed from Debian's packages when it is missing and can be. */
export async function ensureTool(tool: Tool, env: Environment): Promise<ToolProvision> {
  try {
    return await tool.find(env);
  } catch (error) {
    const given = tool.pathVariable !== undefined && setting(env, tool.pathVariable) !== undefined;
    if (given || tool.packages.length === 0 || !mayProvide(env)) throw error;
    const refusal = await exclusively(env, () => installPackages(tool.packages));
    if (refusal === undefined) return { ...(await tool.find(env)), provider: "installed by apt-get" };
    if (error instanceof Error) error.message += `\nIt was not installed for you: ${refusal}.`;
    throw error;
  }
}
