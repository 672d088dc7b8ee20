import { createHash } from "node:crypto";
import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openFsObjects } from "#hub/platform/stores/objects-fs.ts";
import { silentLog } from "#shared/kit/log.ts";

/**
 * A program: an object store on the small file system that is mounted at its first argument, in a mount namespace of its
 * own. Prints what the store says of itself with room, without any, and when it is read-only.
 */
const dir = process.argv[2] ?? "";
const store = await openFsObjects(join(dir, "objects"), { log: silentLog });
const body = new Uint8Array(300_000).fill(7);
const small = {
  key: "many",
  body,
  size: body.length,
  sha256: createHash("sha256").update(body).digest("hex"),
};

const said = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "ok",
    (err) => `${err.kind ?? err.code}: ${err.message}`,
  );

async function ask() {
  const many = async () => {
    const [answer] = await store.putMany([small]);
    if (answer && "error" in answer) throw answer.error;
  };
  const stream = new Response(body).body as ReadableStream<Uint8Array>;
  return {
    probe: await said(store.probe()),
    put: await said(store.put("one", stream)),
    many: await said(many()),
  };
}

function fill(): void {
  const block = new Uint8Array(4_096);
  try {
    for (;;) appendFileSync(join(dir, "ballast"), block);
  } catch {
    // It is full.
  }
}

const room = await ask();
fill();
const full = await ask();
rmSync(join(dir, "ballast"));
const again = await ask();
const { exitCode } = Bun.spawnSync(["mount", "-o", "remount,ro", dir]);
if (exitCode !== 0) throw new Error("could not be mounted read-only");
process.stdout.write(JSON.stringify({ room, full, again, read_only: await ask() }));
