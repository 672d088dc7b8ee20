import { readFile } from "node:fs/promises";
import { type Check, type CheckDeps, ok, outputOf, warn } from "./check.ts";

const read = (path: string): Promise<string | null> =>
  readFile(path, "utf8").then(
    (text) => text.trim(),
    () => null,
  );

const KINDS = ["--map-root-user", "--pid", "--net", "--mount", "--ipc", "--uts"];

/** Chromium's sandbox needs them under NoNewPrivileges, where its setuid helper cannot work. */
export async function checkNamespaces({ path }: CheckDeps): Promise<Check> {
  const name = "user namespaces";
  const [max, clone, apparmor] = await Promise.all([
    read("/proc/sys/user/max_user_namespaces"),
    read("/proc/sys/kernel/unprivileged_userns_clone"),
    read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
  ]);
  if (max === "0")
    return warn(
      name,
      "switched off",
      "run sysctl -w user.max_user_namespaces=15000 (and set it in /etc/sysctl.d)",
    );
  if (clone === "0")
    return warn(
      name,
      "only root may create them",
      "run sysctl -w kernel.unprivileged_userns_clone=1 (and set it in /etc/sysctl.d)",
    );
  if (apparmor === "1")
    return warn(
      name,
      "AppArmor denies them to programs without a profile",
      "run sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or give the browser a profile with `userns,`",
    );
  const unshare = Bun.which("unshare", { PATH: path });
  if (unshare !== null) {
    // Everything that Chromium and bubblewrap create.
    const said = await outputOf([unshare, "--user", ...KINDS, "--fork", "echo", "made"]);
    if (!(said ?? "").includes("made"))
      return warn(
        name,
        `cannot be created here: ${said?.trim().split("\n")[0] || "unshare did not end"}`,
        "allow them outside this container, with another seccomp profile, or in the unit's RestrictNamespaces=",
      );
  }
  const bwrap = Bun.which("bwrap", { PATH: path });
  return ok(name, `allowed${bwrap ? "; bubblewrap is installed" : ""}`);
}

/**
 * What to do if `program` gets no namespaces: the advice of the namespace check, or, if that found nothing, what may
 * keep them from this program alone.
 */
export const adviceOnNamespaces = ({ status, advice }: Check, program: string): string =>
  status === "ok"
    ? `unshare can create namespaces here; run dmesg | grep -i denied to see what denies them to ${program}: a profile of AppArmor (add \`userns,\`), SELinux or seccomp`
    : advice;
