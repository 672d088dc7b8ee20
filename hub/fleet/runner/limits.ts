/** What one run of a script may take. Sizes in bytes, times in milliseconds. */
const MIB = 1024 * 1024;

export const RUN_LIMITS = {
  /** Memory of everything in the sandbox together: swapped out, shared, and queued in its sockets too. */
  memory: 512 * MIB,
  /** Its only writable place, /tmp; in memory, and not counted above. */
  tmp: 64 * MIB,
  /** Of one file. Without a sandbox, a script can fill the disk with many. */
  file: 64 * MIB,
  /** Files there, empty ones too. */
  files: 20_000,
  /** Processes and threads; the runtime alone has about a dozen. */
  tasks: 64,
  open_files: 256,
  /** Sockets of everything in the sandbox together, for the kernel keeps some hundred kilobytes for each. */
  sockets: 256,
  /** How often memory and tasks are looked at. */
  look_every_ms: 100,
  /** Of each stream the first and the last. */
  stream: 128 * 1024,
} as const;

export const DOOR_LIMITS = {
  header: 16 * 1024,
  /** Arguments of an action: the files of an `set_input_files` among them. */
  act: 32 * MIB,
  save: 32 * MIB,
  log: 64 * 1024,
  /** Result or error; a little more than a result may have, so that the script's own side says what is wrong. */
  end: MIB + 64 * 1024,
  /** Calls under way, and bytes of theirs: above either the hub reads no further. */
  calls: 16,
  bytes: 64 * MIB,
  /** Calls at once, and from then on per second. */
  burst: 2_000,
  per_second: 500,
} as const;
