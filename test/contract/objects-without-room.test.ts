import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "#test/support/rigs/program.ts";

/** A store that takes nothing says why, to whoever puts and to whoever asks how it is (rules/operations#degraded-parts). */

setDefaultTimeout(180_000);
const SCRIPT = join(import.meta.dir, "../support/fakes/store-without-room.ts");
/** In a mount namespace that ends with the program; who is not root becomes it there. */
const UNSHARE = ["unshare", "--mount", ...(process.getuid?.() === 0 ? [] : ["--map-root-user"])];

test("an object store whose disk is full or read-only is unavailable with that reason, and takes objects again", async () => {
  const dir = await mkdtemp(join(tmpdir(), "flotilla-room-"));
  try {
    const mounted = `mount -t tmpfs -o size=4m none "$1" && exec "$2" "$3" "$1"`;
    const words = ["sh", "-c", mounted, "sh", dir, process.execPath, SCRIPT];
    const { code, stdout, stderr } = await runProgram([...UNSHARE, ...words]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const all = (text: string) => ({ probe: text, put: text, many: text });
    expect(JSON.parse(stdout)).toEqual({
      room: all("ok"),
      full: all("unavailable: the disk of the object store is full"),
      again: all("ok"),
      read_only: all("unavailable: the object store is read-only"),
    });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
