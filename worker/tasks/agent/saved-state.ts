import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { replaceFile } from "#shared/kit/replace-file.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { DesiredInstance } from "#shared/protocol/schema/agent.ts";

const SavedState = z.object({
  agent_id: z.string().min(8).max(64),
  instances: z.array(DesiredInstance),
});
/** What an agent keeps across its own restarts: its name, and what it was last ordered to run. */
export type SavedState = z.infer<typeof SavedState>;

/** At a first start, or when the file cannot be read, the agent begins with a new name and nothing to run. */
export async function loadState(path: string, log: Log): Promise<SavedState> {
  const text = await readFile(path, "utf8").catch(() => null);
  try {
    if (text !== null) return SavedState.parse(JSON.parse(text));
  } catch (err) {
    log.warn({ path, err: errorMessage(err) }, "could not read the agent's saved state");
  }
  return { agent_id: newToken(), instances: [] };
}

export async function saveState(path: string, state: SavedState): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, JSON.stringify(state));
}
