import { ConfigError } from "./env.ts";

/** The account that Chromium runs as when the worker is root. */
export interface BrowserUser {
  name: string;
  uid: number;
  gid: number;
}

/** The account that `quickstart` creates, and that Chromium runs as when none is named. */
const DEFAULT_ACCOUNT = "flotilla-browser";

const MAKE_ACCOUNT = `useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin ${DEFAULT_ACCOUNT}`;

/**
 * The account for Chromium, which refuses its sandbox to root. Null when it runs as the worker itself: the worker is
 * not root, or was told to do without the sandbox and no `name` is given.
 * @throws ConfigError when there is no such account, or when the worker may not change to it.
 */
export function findBrowserUser(name: string | null, sandbox: "on" | "off"): BrowserUser | null {
  const self = process.getuid?.();
  if (name === null && (self !== 0 || sandbox === "off")) return null;
  const account = name ?? DEFAULT_ACCOUNT;
  const [uid, gid] = [lookUp("-u", account), lookUp("-g", account)];
  if (uid === null || gid === null)
    throw new ConfigError(name === null ? withoutAccount() : `SVC_BROWSER_USER: no user ${name}`);
  if (uid === 0)
    throw new ConfigError(
      `SVC_BROWSER_USER: ${account} is root, for which Chromium has no sandbox`,
    );
  if (uid === self) return null;
  if (self !== 0)
    throw new ConfigError("SVC_BROWSER_USER: only root can run Chromium as another user");
  return { name: account, uid, gid };
}

const withoutAccount = () =>
  `Chromium does not run as root in its sandbox, and there is no account ${DEFAULT_ACCOUNT} to run it as. ` +
  `Create it with \`${MAKE_ACCOUNT}\`, name another one with SVC_BROWSER_USER, ` +
  "or run without the sandbox with SVC_BROWSER_SANDBOX=off";

/** `id` asks the same sources as login does, a directory server included. */
function lookUp(option: string, name: string): number | null {
  const result = Bun.spawnSync(["id", option, "--", name], { timeout: 5_000, stderr: "ignore" });
  return result.exitCode === 0 ? Number(result.stdout.toString()) : null;
}
