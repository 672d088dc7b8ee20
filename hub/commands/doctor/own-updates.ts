import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { errorMessage } from "#shared/errors.ts";
import { UPDATE_STATE_FILE, UpdateState, versionsDir } from "#worker/update/state.ts";
import { type Check, type CheckDeps, ok, setting, warn } from "./check.ts";

const name = "updates";

/** What became of the versions that the worker of this data directory was offered. */
export async function checkOwnUpdates({ env }: CheckDeps): Promise<Check> {
  const dir = versionsDir(resolve(setting(env, "SVC_DATA_DIR") ?? "./data"));
  const path = join(dir, UPDATE_STATE_FILE);
  const text = await readFile(path, "utf8").catch((err: NodeJS.ErrnoException) => {
    if (err.code === "ENOENT" || err.code === "ENOTDIR") return null;
    throw err;
  });
  if (text === null) return ok(name, "none was made here");
  let state: UpdateState;
  try {
    state = UpdateState.parse(JSON.parse(text));
  } catch (err) {
    return warn(
      name,
      `${path} cannot be read: ${errorMessage(err).split("\n")[0]}`,
      "the worker starts with its own version and writes it anew",
    );
  }
  const { bad, current, base } = state;
  const runs = current === null ? `version ${base} of the program runs` : `version ${current} runs`;
  if (bad === null) return ok(name, runs);
  return warn(
    name,
    `version ${bad.version} failed here at ${bad.at}: ${bad.reason}; ${runs}`,
    "it is not tried again: mend what it says (journalctl -u 'flotilla-worker@*'), then flotilla install worker with that version, or let the hub offer another one",
  );
}
