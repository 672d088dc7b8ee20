/** Exit codes of the program; the client's are fixed by its documentation (0 completed, 1 failed, 2 usage, 3 unreachable). */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  /** Client: the hub does not answer. */
  hub_unreachable: 3,
  /** Worker: a program it needs is not installed. */
  missing_program: 3,
  /** `migrate --dry-run`: the database lacks migrations of this program. */
  migrations_pending: 10,
  /** `migrate --dry-run`: there is no database yet. */
  no_database: 11,
  /** Worker: another version is ready to run, and the supervisor must restart it (rules/updates#exit-42). */
  updated: 42,
  /** sysexits EX_UNAVAILABLE: a database, Redis or bucket cannot be reached, or another hub uses it; the next start may succeed. */
  unavailable: 69,
  /** sysexits EX_SOFTWARE: a bug reached the top. */
  internal: 70,
  interrupted: 130,
} as const;

/** The same for people, in help and manual page. */
export const EXIT_MEANINGS: readonly (readonly [string, string])[] = [
  ["0", "done"],
  ["1", "a job or task failed, or the hub refused the call"],
  ["2", "wrong usage or configuration"],
  ["3", "the hub cannot be reached (commands), or a program is missing (worker)"],
  ["10", "migrate --dry-run: migrations are missing"],
  ["11", "migrate --dry-run: there is no database"],
  ["42", "another version takes over (worker)"],
  ["69", "a database, Redis or bucket cannot be reached, or another hub uses the database"],
  ["70", "an internal error"],
  ["130", "ended by Ctrl-C"],
];

/** A mistake on the command line; printed as one line, with what to try next where that is known, exit 2. */
export class UsageError extends Error {
  /** A command line, or a few words about what helps. */
  readonly next: string | null;

  constructor(message: string, next: string | null = null) {
    super(message);
    this.name = "UsageError";
    this.next = next;
  }
}
