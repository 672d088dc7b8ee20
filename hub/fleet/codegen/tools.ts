import { chat } from "#shared/llm/chat.ts";
import { checkScript } from "../runner/check-script.ts";
import { runScript } from "../runner/run-script.ts";

/** What runs and plans scripts; a hub has the real ones, tests may supply their own. */
export interface ScriptTools {
  chat: typeof chat;
  checkScript: typeof checkScript;
  runScript: typeof runScript;
}

export const SCRIPT_TOOLS: ScriptTools = { chat, checkScript, runScript };
