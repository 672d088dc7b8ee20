/**
 * For a runtime that is started for scripts and plugins: nothing is installed while they run, and nothing is taken from files
 * that are called `.env` and `bunfig.toml` where it runs, which another task or script may have left there.
 */
export const RUNTIME_FLAGS: readonly string[] = [
  "--no-install",
  "--no-env-file",
  "--config=/dev/null",
];
