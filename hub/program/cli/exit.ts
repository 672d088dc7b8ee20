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

/** A mistake on the command line; printed as one line, exit 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}
