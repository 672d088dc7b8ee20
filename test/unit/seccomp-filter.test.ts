import { describe, expect, test } from "bun:test";
import { CALLS } from "#hub/fleet/runner/seccomp/calls.ts";
import { isMachine, type Machine, seccompProgram } from "#hub/fleet/runner/seccomp/filter.ts";

/** The program, run as the kernel runs it, for both machines: only one of them is there to try it on. */

const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
const COLUMN = { x64: 0, arm64: 1 } as const;
const MACHINES = ["x64", "arm64"] as const;
const ALLOWED = "allowed";
const ENOSYS = 38;

/** What becomes of a call, by the program: an errno, or one of the words. */
function decide(machine: Machine, nr: number, args: number[] = [], arch = AUDIT[machine]) {
  const bytes = seccompProgram(machine);
  const code = new DataView(bytes.buffer);
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, nr >>> 0, true);
  data.setUint32(4, arch, true);
  for (const [i, arg] of args.entries()) data.setBigUint64(16 + 8 * i, BigInt(arg), true);
  let held = 0;
  for (let at = 0; at < bytes.length / 8; at += 1) {
    const [op, k] = [code.getUint16(at * 8, true), code.getUint32(at * 8 + 4, true)];
    const jump = (holds: boolean) => code.getUint8(at * 8 + (holds ? 2 : 3));
    if (op === 0x20) held = data.getUint32(k, true);
    else if (op === 0x54) held = (held & k) >>> 0;
    else if (op === 0x15) at += jump(held === k);
    else if (op === 0x25) at += jump(held > k);
    else if (op === 0x35) at += jump(held >= k);
    else if (op === 0x45) at += jump((held & k) !== 0);
    else if (op === 0x06) {
      if (k === 0x7fff0000) return ALLOWED;
      if (k === 0x80000000) return "killed";
      return k & 0xffff;
    } else throw new Error(`instruction ${op.toString(16)} is none of ours`);
  }
  throw new Error("the program ended without a decision");
}

/** Decided by their arguments. */
const JUDGED = ["clone", "mmap", "socket", "socketpair", "prctl", "ioctl", "personality"];

describe.each(MACHINES)("on %s", (machine) => {
  const numberOf = (name: string): number => CALLS[name]?.[COLUMN[machine]] ?? Number.NaN;

  test("every number is allowed that the table has, and no other", () => {
    const allowed = new Set(
      Object.keys(CALLS)
        .filter((name) => !JUDGED.includes(name))
        .map(numberOf),
    );
    const judged = new Set(JUDGED.map(numberOf));
    for (let nr = 0; nr < 600; nr += 1) {
      if (judged.has(nr)) continue;
      expect([nr, decide(machine, nr)]).toEqual([nr, allowed.has(nr) ? ALLOWED : ENOSYS]);
    }
    for (const nr of [0x40000000, 0x40000027, 0x7fffffff, 0xffffffff])
      expect(decide(machine, nr)).toBe(ENOSYS);
  });

  test("calls by another machine's convention end the process", () => {
    for (const arch of [0x40000003, 0x40000028, ...Object.values(AUDIT)])
      if (arch !== AUDIT[machine])
        expect(decide(machine, numberOf("read"), [], arch as (typeof AUDIT)[Machine])).toBe(
          "killed",
        );
  });

  test("arguments decide of the calls that need it, by their lower halves", () => {
    const judged = (name: string, ...args: number[]) => decide(machine, numberOf(name), args);
    const [EPERM, EINVAL, ENOTTY, EPROTO, EAF] = [1, 22, 25, 93, 97];
    // A thread, as the C library makes one, and a process.
    expect(judged("clone", 0x3d0f00)).toBe(ALLOWED);
    expect(judged("clone", 17)).toBe(ALLOWED);
    expect(judged("clone", 0x10000000 + 17)).toBe(EPERM);
    expect(judged("mmap", 0, 4096, 3, 0x22)).toBe(ALLOWED);
    expect(judged("mmap", 0, 4096, 3, 0x01)).toBe(ALLOWED);
    expect(judged("mmap", 0, 4096, 3, 0x21)).toBe(EPERM);
    expect(judged("mmap", 0, 4096, 3, 0x40022)).toBe(EPERM);
    expect(judged("socket", 1, 1, 0)).toBe(ALLOWED);
    expect(judged("socket", 2, 1, 6)).toBe(ALLOWED);
    expect(judged("socket", 10, 2, 17)).toBe(ALLOWED);
    expect(judged("socket", 16, 3, 0)).toBe(ALLOWED);
    expect(judged("socket", 16, 3, 12)).toBe(EPROTO);
    expect(judged("socket", 2, 1, 262)).toBe(EPROTO);
    expect(judged("socket", 40, 1, 0)).toBe(EAF);
    expect(judged("socketpair", 1, 1, 0)).toBe(ALLOWED);
    expect(judged("socketpair", 2, 1, 0)).toBe(EAF);
    expect(judged("prctl", 15)).toBe(ALLOWED);
    expect(judged("prctl", 22)).toBe(EINVAL);
    expect(judged("ioctl", 0, 0x5401)).toBe(ALLOWED);
    expect(judged("ioctl", 0, 2 ** 32 + 0x5412)).toBe(ENOTTY);
    expect(judged("personality", 0xffffffff)).toBe(ALLOWED);
    expect(judged("personality", 0x400000)).toBe(EPERM);
  });
});

test("there is none for machines that Bun does not run on", () => {
  expect(["x64", "arm64", "riscv64", "ia32"].map(isMachine)).toEqual([true, true, false, false]);
});
