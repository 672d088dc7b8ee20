import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { errorMessage } from "#shared/kit/errors.ts";
import { builtRelease } from "#shared/protocol/release.ts";
import { fingerprintOf } from "#shared/protocol/update-proof.ts";
import { HUB_KEY_FILE } from "#worker/program/update/proof.ts";
import { UPDATE_STATE_FILE, UpdateState, versionsDir } from "#worker/program/update/state.ts";
import { type Check, type CheckDeps, ok, setting, warn } from "./check.ts";

const name = "updates";

/** The keys that updates are checked with here. */
async function trustOf(dir: string, env: CheckDeps["env"]): Promise<string> {
  const release = builtRelease();
  const build = release ? `build signed with ${fingerprintOf(release.key)}` : "unsigned build";
  const named = setting(env, "SVC_UPDATE_KEY");
  const kept = await readFile(join(dir, HUB_KEY_FILE), "utf8").catch(() => null);
  const key = named ?? kept?.trim();
  return `${build}, ${key ? `hub's key ${fingerprintOf(key)}` : "the hub's key is not known yet"}`;
}

/** What became of the versions offered to the worker of this data directory. */
export async function checkOwnUpdates({ env }: CheckDeps): Promise<Check> {
  const dir = versionsDir(resolve(setting(env, "SVC_DATA_DIR") ?? "./data"));
  const path = join(dir, UPDATE_STATE_FILE);
  const text = await readFile(path, "utf8").catch((err: NodeJS.ErrnoException) => {
    if (err.code === "ENOENT" || err.code === "ENOTDIR") return null;
    throw err;
  });
  const trust = await trustOf(dir, env);
  if (text === null) return ok(name, `no update was made here yet; ${trust}`);
  let state: UpdateState;
  try {
    state = UpdateState.parse(JSON.parse(text));
  } catch (err) {
    return warn(
      name,
      `${path} cannot be read: ${errorMessage(err).split("\n")[0]}`,
      "the worker will start with its own version and write the file again",
    );
  }
  const { bad, current, base } = state;
  const runs = current === null ? `version ${base} of the program runs` : `version ${current} runs`;
  if (bad === null) return ok(name, `${runs}; ${trust}`);
  return warn(
    name,
    `version ${bad.version} failed here at ${bad.at}: ${bad.reason}; ${runs}`,
    "it is not tried again: fix the reason (journalctl -u 'flotilla-worker@*'), then run flotilla install worker with that version, or let the hub offer another one",
  );
}
