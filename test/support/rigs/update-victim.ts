import { silentLog } from "#shared/kit/log.ts";
import { pruneVersions, stageArchive } from "#worker/program/update/stage.ts";
import { readState, writeState } from "#worker/program/update/state.ts";

/** Updates forever between the versions it is given, to be killed at any moment: dir, base, then version=archive … */
const [dir = "", base = "", ...versions] = process.argv.slice(2);
for (let i = 0; ; i += 1) {
  const [version = "", archive = ""] = versions[i % versions.length]?.split("=") ?? [];
  await stageArchive(dir, archive, version);
  const state = await readState(dir, base, silentLog);
  await writeState(dir, { ...state, current: version, previous: state.current, attempts: 0 });
  process.stdout.write("swapped\n");
  await pruneVersions(dir, [version, state.current]);
}
