import { readFile } from "node:fs/promises";
import { type Check, type CheckDeps, ok, outputOf, warn } from "./check.ts";

const read = (path: string): Promise<string | null> =>
  readFile(path, "utf8").then(
    (text) => text.trim(),
    () => null,
  );

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
      "sysctl -w user.max_user_namespaces=15000 (and in /etc/sysctl.d)",
    );
  if (clone === "0")
    return warn(
      name,
      "for root alone",
      "sysctl -w kernel.unprivileged_userns_clone=1 (and in /etc/sysctl.d)",
    );
  if (apparmor === "1")
    return warn(
      name,
      "AppArmor keeps them from programs without a profile",
      "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or a profile for the browser with `userns,`",
    );
  const unshare = Bun.which("unshare", { PATH: path });
  const worked =
    unshare !== null && (await outputOf([unshare, "--user", "--pid", "--fork", "echo", "made"]));
  if (unshare !== null && !(worked || "").includes("made"))
    return warn(
      name,
      "cannot be made here",
      "allow them, or run the worker outside of this container",
    );
  const bwrap = Bun.which("bwrap", { PATH: path });
  return ok(name, `allowed${bwrap ? "; bubblewrap is there" : ""}`);
}
