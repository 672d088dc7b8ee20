import { afterAll, afterEach, beforeEach } from "bun:test";
import { childrenOf, readProc } from "#shared/kit/proc.ts";

process.env.TZ = "UTC";

/**
 * A test file ends every process it started. Hooks of a preload run around every test, and `afterAll` once at the
 * very end, so a file is judged when the next one begins: what lived after its last test must be gone by then.
 */

/** A killed child may still have to die and be reaped by this process, on a busy machine after seconds. */
const GRACE_MS = 30_000;
/** A hub may wait five seconds for calls that it is answering. */
const END_MS = 60_000;

/** What test/support keeps for the whole process: servers that outlive a file, and what ends them. */
const shared = globalThis as {
  flotillaKept?: (command: string) => boolean;
  flotillaAtEnd?: () => unknown;
  /** The table of what attacks tried, where there were any. */
  flotillaAttemptsTold?: () => string | null;
  /** Ends hubs that their test has not closed; the file of that test. */
  flotillaOpen?: Map<() => Promise<unknown>, string>;
};

interface Child {
  pid: number;
  command: string;
}

const children = (): Child[] =>
  childrenOf(process.pid)
    .map((pid) => ({ pid, command: (readProc(pid, "cmdline") ?? "").replaceAll("\0", " ").trim() }))
    .filter((child) => child.command !== "" && !shared.flotillaKept?.(child.command));

async function stillThere(suspects: Child[]): Promise<Child[]> {
  const end = Date.now() + GRACE_MS;
  for (;;) {
    const alive = new Set(children().map((c) => c.pid));
    const left = suspects.filter((c) => alive.has(c.pid));
    if (left.length === 0 || Date.now() > end) return left;
    await Bun.sleep(20);
  }
}

async function demandNone(file: string, suspects: Child[]): Promise<void> {
  if (suspects.length === 0) return;
  const left = await stillThere(suspects);
  // The next file would be blamed for them too.
  for (const { pid } of left) process.kill(pid, "SIGKILL");
  if (left.length > 0)
    throw new Error(`${file} left running: ${left.map((c) => `${c.pid} ${c.command}`).join("; ")}`);
}

/** Hubs of tests that were late, or failed before they closed them. */
async function endOpen(file: string): Promise<number> {
  const left = [...(shared.flotillaOpen ?? [])].filter(([, of]) => of === file);
  const ended = Promise.allSettled(left.map(([end]) => end()));
  await Promise.race([ended, Bun.sleep(END_MS)]);
  return left.length;
}

// Not in a test's own time: Bun ends every process that a test has started when that test is late.
if (process.env.FLOTILLA_TEST_FLEET === "1")
  await (await import("./support/servers/test-servers.ts")).testServers();
if (process.env.FLOTILLA_TEST_OBJECTS === "s3")
  await (await import("./support/servers/s3.ts")).objectsEnv();

let file = Bun.main;
let afterLastTest: Child[] = [];

beforeEach(async () => {
  if (Bun.main === file) return;
  const [previous, suspects] = [file, afterLastTest];
  file = Bun.main;
  afterLastTest = [];
  const hubs = await endOpen(previous);
  await demandNone(previous, suspects);
  if (hubs > 0) throw new Error(`${previous} left hubs running: ${hubs} sets, which are ended now`);
});

afterEach(() => {
  afterLastTest = children();
});

afterAll(async () => {
  const told = shared.flotillaAttemptsTold?.();
  if (told) console.log(`\n${told}\n`);
  await shared.flotillaAtEnd?.();
  delete shared.flotillaKept;
  await demandNone(file, children());
});
