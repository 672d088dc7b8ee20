import {
  ALLOW,
  assemble,
  type Block,
  errno,
  give,
  givenWithin,
  KILL_PROCESS,
  keepBits,
  loadArch,
  loadArgument,
  loadNumber,
  unlessEqual,
  whenAnyBit,
  whenAtLeast,
  whenEqual,
} from "./bpf.ts";
import { CALLS } from "./calls.ts";

/** Machines that Bun runs on, by its name for them, as linux/audit.h numbers them; `column` of the table of calls. */
const MACHINES = {
  x64: { audit: 0xc000003e, column: 0 },
  arm64: { audit: 0xc00000b7, column: 1 },
} as const;
export type Machine = keyof typeof MACHINES;

export const isMachine = (arch: string): arch is Machine => Object.hasOwn(MACHINES, arch);

/** On x86-64 the same calls have numbers above this too, for programs of 32-bit pointers. */
const X32_BIT = 0x40000000;

// errno.h
const EPERM = 1;
const EINVAL = 22;
const ENOTTY = 25;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const EAFNOSUPPORT = 97;

/** Allows these values of what was loaded, and refuses all others. */
const oneOf = (values: readonly number[], refusal: number): Block => [
  ...values.flatMap((value) => whenEqual(value, give(ALLOW))),
  ...give(errno(refusal)),
];

/** Namespaces of any kind: user, mount, process, network, IPC, UTS, cgroup (linux/sched.h). */
const CLONE_NEW_ANY = 0x7e020000;

const MAP_SHARED_ANONYMOUS = 0x21;
const MAP_HUGETLB = 0x40000;

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const TCP_AND_UDP = [0, 6, 17];
/** The list of addresses and interfaces, which name lookups read. */
const NETLINK_ROUTE = 0;

/** Of linux/prctl.h: names, the parent's death, privileges that can only be dropped, timer slack, huge pages, names of memory. */
const PRCTL = [1, 2, 3, 15, 16, 21, 23, 29, 30, 36, 37, 38, 39, 41, 42, 0x53564d41];

/** Questions to terminals and descriptors, non-blocking and close-on-exec, copies of files within one file system. */
const IOCTL = [
  0x5401, 0x540f, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451, 0x5452, 0x40049409, 0x4020940d,
];

/** What of a call's arguments decides; calls without an entry are allowed whatever they are given. */
const ARGUMENTS: Record<string, Block> = {
  clone: [...loadArgument(0), ...whenAnyBit(CLONE_NEW_ANY, give(errno(EPERM))), ...give(ALLOW)],
  // Memory that stays when nobody maps it, and large pages, are in no count of a process.
  mmap: [
    ...loadArgument(3),
    ...whenAnyBit(MAP_HUGETLB, give(errno(EPERM))),
    ...keepBits(MAP_SHARED_ANONYMOUS),
    ...whenEqual(MAP_SHARED_ANONYMOUS, give(errno(EPERM))),
    ...give(ALLOW),
  ],
  socket: [
    ...loadArgument(0),
    ...whenEqual(AF_UNIX, give(ALLOW)),
    ...whenEqual(AF_NETLINK, [...loadArgument(2), ...oneOf([NETLINK_ROUTE], EPROTONOSUPPORT)]),
    ...[AF_INET, AF_INET6].flatMap((family) =>
      whenEqual(family, [...loadArgument(2), ...oneOf(TCP_AND_UDP, EPROTONOSUPPORT)]),
    ),
    ...give(errno(EAFNOSUPPORT)),
  ],
  socketpair: [...loadArgument(0), ...oneOf([AF_UNIX], EAFNOSUPPORT)],
  prctl: [...loadArgument(0), ...oneOf(PRCTL, EINVAL)],
  ioctl: [...loadArgument(1), ...oneOf(IOCTL, ENOTTY)],
  // The question what it is, and no change.
  personality: [...loadArgument(0), ...oneOf([0xffffffff], EPERM)],
};

/** Numbers that follow each other, as first and last. */
function rangesOf(numbers: number[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const number of numbers.sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges;
}

/**
 * What programs in the sandbox may ask of the kernel, as the program that bubblewrap's `--seccomp` takes. Everything else
 * fails as on a kernel that does not have it (ENOSYS), so that libraries fall back: to `clone` where `clone3`, whose
 * arguments no filter can read, is refused. Calls by the convention of another machine end the process.
 */
export function seccompProgram(machine: Machine): Uint8Array {
  const { audit, column } = MACHINES[machine];
  const numbered = Object.entries(CALLS).flatMap(([name, numbers]) => {
    const number = numbers[column];
    return number === null ? [] : [{ name, number }];
  });
  const plain = numbered.filter(({ name }) => !Object.hasOwn(ARGUMENTS, name));
  return assemble([
    ...loadArch(),
    ...unlessEqual(audit, give(KILL_PROCESS)),
    ...loadNumber(),
    ...whenAtLeast(X32_BIT, give(errno(ENOSYS))),
    ...rangesOf(plain.map(({ number }) => number)).flatMap(([first, last]) =>
      givenWithin(first, last, ALLOW),
    ),
    ...numbered.flatMap(({ name, number }) => {
      const decided = ARGUMENTS[name];
      return decided ? whenEqual(number, decided) : [];
    }),
    ...give(errno(ENOSYS)),
  ]);
}
