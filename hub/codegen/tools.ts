import { chat } from "#shared/llm/chat.ts";
import { runScript } from "../runner/run-script.ts";
import type { ScriptProblem } from "../runner/types.ts";

/** What runs and plans scripts; a hub has the real ones, tests may put their own in. */
export interface ScriptTools {
  chat: typeof chat;
  checkScript(code: string): ScriptProblem[];
  runScript: typeof runScript;
}

export const SCRIPT_TOOLS: ScriptTools = { chat, checkScript: () => [], runScript };
