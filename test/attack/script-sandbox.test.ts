import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { heldBySockets, queuedIn } from "#hub/fleet/runner/held-sockets.ts";
import { excessOf } from "#hub/fleet/runner/watch-run.ts";
import { attempting } from "#test/support/rigs/attempts.ts";
import { createScriptRig, type ScriptRig } from "#test/support/rigs/script-rig.ts";
import { JUDGED, numberOf, REFUSED, SYSTEM_CALLS } from "./lists/system-calls.ts";

/**
 * What a script asks of the kernel itself, past everything that the runtime offers: raw system calls from a real sandbox, and
 * memory held in every way that a count of a process could miss.
 */

// Sandboxes start slowly on a busy machine.
setDefaultTimeout(150_000);

const tried = attempting(SYSTEM_CALLS);
let rig: ScriptRig;
beforeAll(() => {
  rig = createScriptRig();
});
afterAll(() => rig.close());

const ARM = process.arch === "arm64";

/** `call(number, …)` is what the kernel answers; a negative number is that of errno.h. */
const RAW = `
import { dlopen, ptr } from "bun:ffi";
const long = "i64" as const;
const libc = dlopen("libc.so.6", {
  syscall: { args: [long, long, long, long, long, long, long], returns: long },
  __errno_location: { args: [], returns: "ptr" },
  mmap: { args: [long, long, "i32", "i32", "i32", long], returns: long },
  madvise: { args: [long, long, "i32"], returns: "i32" },
  memset: { args: [long, "i32", long], returns: long },
});
import { read } from "bun:ffi";
function call(number: number, ...args: (number | bigint)[]): number {
  const six = [0, 1, 2, 3, 4, 5].map((i) => args[i] ?? 0) as number[];
  const answer = Number(libc.symbols.syscall(number, ...(six as [number, number, number, number, number, number])));
  return answer === -1 ? -read.i32(libc.symbols.__errno_location()!, 0) : answer;
}
const address = (bytes: Uint8Array): number => Number(ptr(bytes));
`;

const ENOSYS = -38;

const SOCKET = ARM ? 198 : 41;

/** Makes the calls in one sandbox and answers what the kernel said, by name. */
async function answers(calls: Record<string, number[]>): Promise<unknown> {
  const outcome = await rig.run(`${RAW}
const calls = ${JSON.stringify(calls)};
export default Object.fromEntries(Object.entries(calls).map(([name, call_of]) => {
  const [number = 0, ...args] = call_of as number[];
  return [name, call(number, ...args)];
}));`);
  expect(outcome).toMatchObject({ end: "ok", sandbox: "bubblewrap" });
  return outcome.result;
}

describe("system calls of a script", () => {
  test("what reaches beyond the sandbox, or deep into the kernel, is not there", async () => {
    const calls = Object.fromEntries(
      Object.keys(REFUSED).map((name) => [name, [numberOf(name), 0, 0, 0, 0, 0]]),
    );
    const said = (await answers(calls)) as Record<string, number>;
    for (const name of Object.keys(REFUSED)) {
      expect([name, said[name]]).toEqual([name, ENOSYS]);
      tried.refused(name);
    }
  });

  test("no call that is numbered later is there before somebody has read what it does", async () => {
    const calls = Object.fromEntries(
      Array.from({ length: 100 }, (_, i) => [String(453 + i), [453 + i]]),
    );
    expect(new Set(Object.values((await answers(calls)) as object))).toEqual(new Set([ENOSYS]));
  });

  test("the same calls by their numbers for programs of 32-bit pointers are not there either", async () => {
    if (ARM) return;
    const X32 = 0x40000000;
    expect(
      await answers({ getpid: [X32 + 39], ptrace: [X32 + 521], first: [X32], last: [0x7fffffff] }),
    ).toEqual({ getpid: ENOSYS, ptrace: ENOSYS, first: ENOSYS, last: ENOSYS });
  });

  test("what is allowed is refused where it is asked for more", async () => {
    const calls = Object.entries(JUDGED).map(([name, { call }]) => [name, call]);
    const said = (await answers(Object.fromEntries(calls))) as Record<string, number>;
    for (const [name, { answer }] of Object.entries(JUDGED)) {
      expect([name, said[name]]).toEqual([name, answer]);
      tried.refused(name);
    }
  });

  test("sockets of its own network are made", async () => {
    const made = Object.values(
      (await answers({
        unix: [SOCKET, 1, 1, 0],
        tcp: [SOCKET, 2, 1, 0],
        udp: [SOCKET, 10, 2, 17],
        route: [SOCKET, 16, 3, 0],
      })) as Record<string, number>,
    );
    expect(made).toHaveLength(4);
    for (const fd of made) expect(fd).toBeGreaterThan(2);
  });

  test("the gate of 32-bit programs ends the process", async () => {
    if (ARM) return;
    // mov eax, 20 (getpid); int 0x80; ret
    const outcome = await rig.run(`${RAW}
import { CFunction } from "bun:ffi";
const page = Number(libc.symbols.mmap(0, 4096, 7, 0x22, -1, 0));
const code = new Uint8Array([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]);
const memcpy = dlopen("libc.so.6", { memcpy: { args: ["i64", "ptr", "i64"], returns: "ptr" } }).symbols.memcpy;
memcpy(page, code, code.length);
export default CFunction({ ptr: page as never, args: [], returns: "i32" })();`);
    expect(outcome).toMatchObject({ result: null });
    expect(outcome.end).not.toBe("ok");
  });

  test("no descriptor of the hub's comes with it, the filter's neither", async () => {
    const outcome = await rig.run(`
import { readdirSync, readlinkSync } from "node:fs";
export default readdirSync("/proc/self/fd").flatMap((fd) => {
  try { return [readlinkSync("/proc/self/fd/" + fd)]; } catch { return []; }
}).filter((path) => path.startsWith("/") && !path.startsWith("/dev/") && !path.startsWith("/proc/"));`);
    expect(outcome).toMatchObject({ end: "ok" });
    for (const path of outcome.result as string[]) expect(path).toMatch(/^\/(app|run)\b/);
  });
});

test("every attempt of the list was made", () => {
  expect(tried.left()).toEqual([]);
});

describe("what scripts do every day", () => {
  const cases: Record<string, string> = {
    "files, copies, links, watching": `
import * as fs from "node:fs";
fs.writeFileSync("a", "x"); fs.copyFileSync("a", "b"); fs.renameSync("b", "c"); fs.symlinkSync("c", "l");
fs.mkdirSync("d/e", { recursive: true }); fs.cpSync("d", "f", { recursive: true }); fs.chmodSync("c", 0o600);
fs.utimesSync("c", 1, 1); fs.truncateSync("c", 0); fs.rmSync("d", { recursive: true });
const seen = new Promise((resolve) => fs.watch(".", resolve)); fs.writeFileSync("z", "1"); await seen;
await Bun.write("big", new Uint8Array(20_000_000)); await Bun.write("big2", Bun.file("big"));
export default fs.statSync("big2").size;`,
    "timers, threads and shared memory between them": `
await Bun.sleep(5); await new Promise(setImmediate);
await Bun.write("/tmp/w.ts", "onmessage = (e) => { Atomics.add(new Int32Array(e.data), 0, 41); postMessage(1); }");
const memory = new SharedArrayBuffer(4); Atomics.store(new Int32Array(memory), 0, 1);
const worker = new Worker("/tmp/w.ts"); worker.postMessage(memory);
await new Promise((resolve) => { worker.onmessage = resolve; }); worker.terminate();
export default Atomics.load(new Int32Array(memory), 0);`,
    "programs of its own, with text of theirs in and out": `
import { execFileSync } from "node:child_process";
const code = "console.log((await Bun.stdin.text()).length)";
const child = Bun.spawn([process.execPath, "-e", code], { stdin: new Blob(["x".repeat(1e6)]), stdout: "pipe" });
const text = await new Response(child.stdout).text();
const sync = Bun.spawnSync([process.execPath, "-e", code], { stdin: Buffer.from("abc") }).stdout.toString();
const node = execFileSync(process.execPath, ["-e", code], { input: "ab" }).toString();
export default [text, sync, node].map(Number);`,
    "large blobs without memory files": `
const blob = new Blob([new Uint8Array(30_000_000).fill(7)]);
const bytes = new Uint8Array(await new Response(blob.slice(9)).arrayBuffer());
export default [bytes.length, bytes[0], bytes.at(-1)];`,
    "databases, archives, hashes, passwords, WebAssembly": `
import { Database } from "bun:sqlite"; import { gzipSync, gunzipSync } from "node:zlib"; import { scryptSync } from "node:crypto";
const db = new Database("x.db"); db.run("PRAGMA journal_mode = WAL"); db.run("create table t (a)"); db.run("insert into t values (1)");
const hash = await Bun.password.hash("x", { algorithm: "argon2id", memoryCost: 8000, timeCost: 2 });
scryptSync("a", "b", 10); const wasm = new WebAssembly.Memory({ initial: 1, maximum: 100 }); wasm.grow(9);
export default [db.query("select a from t").get(), gunzipSync(gzipSync("x")).toString(), await Bun.password.verify("x", hash), wasm.buffer.byteLength];`,
    "servers and sockets of its own, and none outside": `
import net from "node:net"; import dns from "node:dns/promises";
const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("hi") });
const inside = await (await fetch("http://127.0.0.1:" + server.port)).text();
const path = "/tmp/s"; const listening = net.createServer((c) => c.end("x")).listen(path);
const unix = await new Promise((resolve) => net.connect(path).on("data", (b) => resolve(String(b))));
const outside = await fetch("http://192.0.2.1/").then(() => "reached", (error) => error.name);
const name = await dns.lookup("nowhere.invalid").then(() => "found", (error) => error.name);
listening.close(); await server.stop(true);
export default [inside, unix, outside, name];`,
    "questions about the machine": `
import os from "node:os";
os.loadavg(); os.uptime(); os.freemem(); os.networkInterfaces(); os.getPriority(); process.resourceUsage(); process.cpuUsage();
export default [os.cpus().length > 0, os.platform(), process.memoryUsage().rss > 0];`,
  };
  const results: Record<string, unknown> = {
    "files, copies, links, watching": 20_000_000,
    "timers, threads and shared memory between them": 42,
    "programs of its own, with text of theirs in and out": [1_000_000, 3, 2],
    "large blobs without memory files": [29_999_991, 7, 7],
    "databases, archives, hashes, passwords, WebAssembly": [{ a: 1 }, "x", true, 655_360],
    "servers and sockets of its own, and none outside": ["hi", "x", "TypeError", "DNSException"],
    "questions about the machine": [true, "linux", true],
  };
  for (const [name, code] of Object.entries(cases))
    test(`${name} work under the filter`, async () => {
      const { end, result, stderr, detail } = await rig.run(code);
      expect({ end, result, stderr, detail }).toMatchObject({
        end: "ok",
        stderr: "",
        detail: null,
        result: results[name],
      });
    });
});

describe("memory of a script", () => {
  const MIB = 1024 * 1024;
  const ENDED = {
    end: "limit",
    detail: expect.stringMatching(/^the script used \d+ MB of memory, more than 512$/),
  };
  const holding = (code: string) => rig.run(code, { timeout_ms: 120_000 });
  /** Stays when it holds what it can, so that only the hub ends it. */
  const STAY = "await new Promise(() => setInterval(() => {}, 1e9));";

  test("what it holds by itself counts", async () => {
    expect(
      await holding(
        `const kept: Uint8Array[] = []; for (;;) { kept.push(new Uint8Array(${8 * MIB}).fill(1)); await Bun.sleep(1); }`,
      ),
    ).toMatchObject(ENDED);
  });

  test("what its programs hold together counts", async () => {
    const hold = `const a = new Uint8Array(${200 * MIB}).fill(1); setInterval(() => a, 1e6)`;
    expect(
      await holding(
        `for (let i = 0; i < 3; i += 1) Bun.spawn([process.execPath, "-e", ${JSON.stringify(hold)}]);\n${STAY}`,
      ),
    ).toMatchObject(ENDED);
  });

  test("tables of address space count that nothing was ever written to", async () => {
    // Reading one byte of every 2 MB takes a page of tables and none of memory.
    expect(
      await holding(`${RAW}
const GIB = 2 ** 30;
const held = new Uint8Array(${400 * MIB}).fill(1);
for (let i = 0; held.length && i < 400; i += 1) {
  const at = Number(libc.symbols.mmap(0, GIB, 1, 0x4022, -1, 0));
  for (let offset = 0; offset < GIB; offset += 2 ** 21) read.u8(at as never, offset);
}
${STAY}`),
    ).toMatchObject(ENDED);
  });

  test("what waits in queues of its sockets counts", () => {
    // /proc/net/tcp: one that listens, one whose peer does not read, one with bytes to read.
    const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000 65534        0 101 1 0000 100 0 0 10 0
   1: 0100007F:1F90 0100007F:A000 01 00100000:00000000 01:00000014 00000000 65534        0 102 3 0000 20 4 30 10 -1
   2: 0100007F:A000 0100007F:1F90 01 00000000:0001F400 00:00000000 00000000 65534        0 103 1 0000 20 4 0 10 -1
`;
    expect(queuedIn(table)).toBe(MIB + 128_000);
    expect(heldBySockets(process.pid)).toMatchObject({ sockets: expect.any(Number) });
    expect(heldBySockets(2 ** 22)).toEqual({ sockets: 0, bytes: 0 });
  });

  test("sockets count, those of its programs too", async () => {
    expect(
      await holding(`
const code = "const all = []; for (let i = 0; i < 100; i += 1) all.push(Bun.udpSocket({})); await Promise.all(all); setInterval(() => {}, 1e6)";
for (let i = 0; i < 3; i += 1) Bun.spawn([process.execPath, "-e", code]);
${STAY}`),
    ).toMatchObject({
      end: "limit",
      detail: expect.stringMatching(/^the script used \d+ sockets, more than 256$/),
    });
  });

  test("without a sandbox memory files count too, mapped or not", async () => {
    const outcome = await rig.run(
      `${RAW}
import { writeSync } from "node:fs";
const chunk = new Uint8Array(${8 * MIB}).fill(1);
const name = Buffer.from("m\\0");
for (let i = 0; i < 90; i += 1) writeSync(call(${numberOf("memfd_create")}, address(name), 0), chunk);
${STAY}`,
      { kind: "process", timeout_ms: 120_000 },
    );
    expect(outcome).toMatchObject({ ...ENDED, sandbox: "process" });
  });

  test("the decision is made of all of it together", () => {
    const nothing = { bytes: 0, tasks: 12, network: { sockets: 3, bytes: 0 }, files: 0 };
    expect(excessOf(nothing)).toBeNull();
    expect(excessOf({ ...nothing, bytes: 512 * MIB })).toBeNull();
    expect(
      excessOf({ ...nothing, bytes: 300 * MIB, network: { sockets: 3, bytes: 300 * MIB } }),
    ).toBe("600 MB of memory, more than 512");
    expect(excessOf({ ...nothing, files: 20_001 })).toBe("20001 files, more than 20000");
    expect(excessOf({ ...nothing, network: { sockets: 257, bytes: 0 } })).toBe(
      "257 sockets, more than 256",
    );
    expect(excessOf({ ...nothing, network: null, tasks: 129 })).toBe(
      "129 processes and threads, more than 64",
    );
  });
});
