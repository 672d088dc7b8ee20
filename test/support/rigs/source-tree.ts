import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hashSources, SOURCE_ROOT } from "#shared/protocol/version.ts";

/** A copy of the program's sources: a version of its own once something in it was changed. */
export interface SourceTree {
  root: string;
  version: string;
  /** Command that starts its program. */
  program: string[];
}

/** Edits of a copy: by path, the new text given the old one ("" where there was no file). */
export type Edits = Record<string, (text: string) => string>;

const COPIED = ["drizzle", "hub", "shared", "worker", "package.json"];

/** What runs instead of browsers: lanes that are warm at once, and jobs that take `JOB_MS`. */
const STUB_PARTS = `
export const STUB_PARTS = {
  createLanePool: async ({ config }) => createFakePool(config.lanes.count),
  runFetch: async (run) => {
    await Bun.sleep(Number(process.env.STUB_JOB_MS ?? 200));
    return { status: "completed", error: null, stage: null, http_status: 200, final_url: "http://site.test/", title: "Site", capture: null };
  },
  runScripted: async () => Promise.reject(new Error("no script runs here")),
  startBridges: async () => ({ close: async () => {} }),
  loadPlaywright: async () => {},
  random: Math.random,
};
`;

/** A worker without browsers, for tests of everything else. */
export const stubLanes = async (): Promise<Edits> => {
  const fakes = await readFile(join(import.meta.dir, "../fakes/fake-lanes.ts"), "utf8");
  return {
    "worker/program/stub-parts.ts": () => fakes + STUB_PARTS,
    "worker/program/start.ts": (text) =>
      `import { STUB_PARTS } from "./stub-parts.ts";\n${text.replace("parts: WorkerParts = REAL_PARTS", "parts: WorkerParts = STUB_PARTS as never")}`,
  };
};

/** Copies the sources of this checkout, or of another tree, to `root` and edits them. */
export async function copySources(
  root: string,
  edits: Edits,
  from = SOURCE_ROOT,
): Promise<SourceTree> {
  await mkdir(root, { recursive: true });
  for (const name of COPIED) await cp(join(from, name), join(root, name), { recursive: true });
  await symlink(join(SOURCE_ROOT, "node_modules"), join(root, "node_modules"));
  for (const [path, edit] of Object.entries(edits)) {
    const file = join(root, path);
    const before = await readFile(file, "utf8").catch(() => "");
    await writeFile(file, edit(before));
  }
  const program = [process.execPath, join(root, "hub/main.ts")];
  return { root, version: hashSources(root), program };
}
