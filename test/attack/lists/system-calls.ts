import type { AttackList } from "#test/support/rigs/attempts.ts";

/** What a script asks of the kernel by raw system calls. */

const FILE = "script-sandbox.test.ts";
const ARM = process.arch === "arm64";

/** By name: the numbers on x86-64 and arm64. All of them answer ENOSYS, whatever they are given. */
export const REFUSED: Record<string, [x64: number, arm64: number]> = {
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  userfaultfd: [323, 282],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  mount: [165, 40],
  umount2: [166, 39],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  mount_setattr: [442, 442],
  pivot_root: [155, 41],
  chroot: [161, 51],
  unshare: [272, 97],
  setns: [308, 268],
  clone3: [435, 435],
  kexec_load: [246, 104],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  acct: [163, 89],
  syslog: [103, 116],
  clock_settime: [227, 112],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  fanotify_init: [300, 262],
  seccomp: [317, 277],
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  shmget: [29, 194],
  msgget: [68, 186],
  semget: [64, 190],
  mq_open: [240, 180],
  vmsplice: [278, 75],
  tee: [276, 77],
  io_setup: [206, 0],
  setxattr: [188, 5],
  fsetxattr: [190, 7],
  setuid: [105, 146],
  capset: [126, 91],
  execveat: [322, 281],
};
export const numberOf = (name: string): number => REFUSED[name]?.[ARM ? 1 : 0] ?? Number.NaN;

// errno.h
const EPERM = -1;
const EINVAL = -22;
const ENOTTY = -25;
const EPROTONOSUPPORT = -93;
const EAFNOSUPPORT = -97;

/** Calls that are allowed, by what they are given. */
const CLONE = ARM ? 220 : 56;
const SOCKET = ARM ? 198 : 41;
const SOCKETPAIR = ARM ? 199 : 53;
const PRCTL = ARM ? 167 : 157;
const IOCTL = ARM ? 29 : 16;
const PERSONALITY = ARM ? 92 : 135;
const MMAP = ARM ? 222 : 9;

const [STREAM, DATAGRAM, SEQPACKET, RAW] = [1, 2, 5, 3];
const [INET, INET6, NETLINK, ALG, VSOCK] = [2, 10, 16, 38, 40];
const SIGCHLD = 17;
const [PRIVATE, SHARED, ANONYMOUS, HUGE] = [2, 1, 0x20, 0x40000];

/** By name: the call, and what the kernel is to answer. */
export const JUDGED: Record<string, { call: number[]; answer: number }> = {
  "a socket of AF_VSOCK": { call: [SOCKET, VSOCK, STREAM, 0], answer: EAFNOSUPPORT },
  "a datagram of AF_VSOCK": { call: [SOCKET, VSOCK, DATAGRAM, 0], answer: EAFNOSUPPORT },
  "a pair of AF_VSOCK": { call: [SOCKETPAIR, VSOCK, STREAM, 0], answer: EAFNOSUPPORT },
  "a socket of AF_ALG": { call: [SOCKET, ALG, SEQPACKET, 0], answer: EAFNOSUPPORT },
  "a socket of AF_PACKET": { call: [SOCKET, 17, RAW, 0], answer: EAFNOSUPPORT },
  "a socket of AF_BLUETOOTH": { call: [SOCKET, 31, RAW, 0], answer: EAFNOSUPPORT },
  "a socket of AF_XDP": { call: [SOCKET, 44, RAW, 0], answer: EAFNOSUPPORT },
  "a socket of AF_TIPC": { call: [SOCKET, 30, STREAM, 0], answer: EAFNOSUPPORT },
  "a socket of MPTCP": { call: [SOCKET, INET, STREAM, 262], answer: EPROTONOSUPPORT },
  "a socket of SCTP": { call: [SOCKET, INET6, STREAM, 132], answer: EPROTONOSUPPORT },
  "netlink of netfilter": { call: [SOCKET, NETLINK, RAW, 12], answer: EPROTONOSUPPORT },
  "netlink of the audit log": { call: [SOCKET, NETLINK, RAW, 9], answer: EPROTONOSUPPORT },
  "a process with mounts of its own": { call: [CLONE, 0x20000 + SIGCHLD], answer: EPERM },
  "a process with cgroups of its own": { call: [CLONE, 0x2000000 + SIGCHLD], answer: EPERM },
  "a process with host names of its own": { call: [CLONE, 0x4000000 + SIGCHLD], answer: EPERM },
  "a process with IPC of its own": { call: [CLONE, 0x8000000 + SIGCHLD], answer: EPERM },
  "a process with users of its own": { call: [CLONE, 0x10000000 + SIGCHLD], answer: EPERM },
  "a process with processes of its own": { call: [CLONE, 0x20000000 + SIGCHLD], answer: EPERM },
  "a process with a network of its own": { call: [CLONE, 0x40000000 + SIGCHLD], answer: EPERM },
  "input for a terminal (TIOCSTI)": { call: [IOCTL, 0, 0x5412, 0], answer: ENOTTY },
  // The kernel reads the lower half of a command alone.
  "TIOCSTI with bits above": { call: [IOCTL, 0, 2 ** 32 + 0x5412, 0], answer: ENOTTY },
  "input for a console (TIOCLINUX)": { call: [IOCTL, 0, 0x541c, 0], answer: ENOTTY },
  "another filter (PR_SET_SECCOMP)": { call: [PRCTL, 22, 2, 0], answer: EINVAL },
  "another layout of memory (PR_SET_MM)": { call: [PRCTL, 35, 8, 0], answer: EINVAL },
  "somebody to trace it (PR_SET_PTRACER)": { call: [PRCTL, 0x59616d61, 1, 0], answer: EINVAL },
  "no dumps, which hides it from the hub": { call: [PRCTL, 4, 0], answer: EINVAL },
  "another personality": { call: [PERSONALITY, 0x400000], answer: EPERM },
  "shared memory without a file": {
    call: [MMAP, 0, 4096, 3, SHARED | ANONYMOUS, -1],
    answer: EPERM,
  },
  "large pages": { call: [MMAP, 0, 2 ** 21, 3, PRIVATE | ANONYMOUS | HUGE, -1], answer: EPERM },
};

export const SYSTEM_CALLS: AttackList = {
  what: "System calls of a script that reach beyond its sandbox or deep into the kernel",
  file: FILE,
  attempts: [...Object.keys(REFUSED), ...Object.keys(JUDGED)],
};
