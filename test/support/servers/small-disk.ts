import { runProgram, startProgram } from "../rigs/program.ts";

/** A program with a small file system of its own, in a mount namespace that ends with it. */

const AS_ROOT = process.getuid?.() === 0;
/** Begins a command line with mounts of its own. Who is not root becomes it there. */
export const ownMounts = ["unshare", "--mount", ...(AS_ROOT ? [] : ["--map-root-user"])];
const ENTER = ["nsenter", "--mount", ...(AS_ROOT ? [] : ["--user", "--preserve-credentials"])];

/** Why there can be no such file system here; null when there can. */
export async function noSmallDisk(): Promise<string | null> {
  const mounts = ["sh", "-c", "mount -t tmpfs -o size=1m none /mnt"];
  const { code, stderr } = await runProgram([...ownMounts, ...mounts]);
  return code === 0 ? null : stderr.trim();
}

/** Starts `argv` in mounts of its own: `script` sees the directory as `$0`, mounts something there, and ends with `exec "$@"`. */
export function startInMounts(
  dir: string,
  script: string,
  argv: string[],
  env: Record<string, string>,
) {
  const program = startProgram([...ownMounts, "sh", "-c", script, dir, ...argv], { env });
  /** Runs a script beside the program, with the directory as `$0`. */
  const inside = async (script: string): Promise<void> => {
    const words = [...ENTER, "--target", String(program.pid), "sh", "-c", script, dir];
    const { code, stderr } = await runProgram(words);
    if (code !== 0) throw new Error(`${script}: ${stderr}`);
  };
  return { program, inside };
}

/** Starts `argv` with `size` (as mount knows it) at `dir`, which is there. */
export function startOnSmallDisk(
  dir: string,
  size: string,
  argv: string[],
  env: Record<string, string>,
) {
  const mount = `mount -t tmpfs -o size=${size} none "$0" && exec "$@"`;
  const { program, inside } = startInMounts(dir, mount, argv, env);
  return {
    program,
    /** To the last block. */
    fill: () => inside(`dd if=/dev/zero of="$0/ballast" bs=4k 2>/dev/null; true`),
    /** So many bytes of it. */
    take: (bytes: number) => inside(`head -c ${bytes} /dev/zero > "$0/ballast"`),
    free: () => inside(`rm "$0/ballast"`),
    remount: (how: "ro" | "rw") => inside(`mount -o remount,${how} "$0"`),
  };
}
