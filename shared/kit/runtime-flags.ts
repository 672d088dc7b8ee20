/**
 * For a runtime started for scripts and plugins: nothing is installed while they run, and nothing is read from files
 * named `.env` and `bunfig.toml` in its directory, which another task or script may have left there.
 */
export const RUNTIME_FLAGS: readonly string[] = [
  "--no-install",
  "--no-env-file",
  "--config=/dev/null",
];

/**
 * Whether a variable changes how the runtime in the executable works: what it preloads, traces and prints, calls with their
 * tokens included. They are read before this program's first line, and everything it starts inherits them.
 * BUN_INSTALL, which developers' shells set, only names a directory.
 */
export const isOfRuntime = (name: string): boolean => /^BUN_(?!INSTALL$)/.test(name);
