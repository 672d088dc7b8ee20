import { runProgram } from "../rigs/program.ts";
import { ownMounts, startInMounts } from "../servers/small-disk.ts";

/** A program on an ext4 file system of its own, which goes read-only under open files as a disk with errors makes it. */

/** The directory is `$0`; its image lies beside it. What is there already is repaired, as an operator would. */
const MOUNT =
  `if [ -e "$0.img" ]; then e2fsck -fy "$0.img" >/dev/null 2>&1; ` +
  `else truncate -s 64M "$0.img" && mkfs.ext4 -q -O ^has_journal "$0.img"; fi; ` +
  `mount -o loop,errors=remount-ro "$0.img" "$0"`;
const DEVICE = `$(basename "$(findmnt -no SOURCE "$0")")`;

/** Why there can be no such file system here; null when there can. */
export async function noFailingDisk(dir: string): Promise<string | null> {
  const script = `${MOUNT} && test -w "/sys/fs/ext4/${DEVICE}/trigger_fs_error"`;
  const { code, stderr } = await runProgram([...ownMounts, "sh", "-c", script, dir]);
  return code === 0 ? null : `no ext4 that fails: ${stderr.trim()}`;
}

/** Starts `argv` with the file system at `dir`, which is there; it is unmounted when the program ends. */
export function startOnFailingDisk(dir: string, argv: string[], env: Record<string, string>) {
  const mounted = startInMounts(dir, `${MOUNT} && exec "$@"`, argv, env);
  return {
    program: mounted.program,
    /**
     * An error of the file system makes it read-only, whoever has files open for writing: `mount` cannot do that. What was
     * written until then is on the disk.
     */
    fail: () =>
      mounted.inside(`sync -f "$0" && echo test > "/sys/fs/ext4/${DEVICE}/trigger_fs_error"`),
    /** Writes to files that are open already are refused, until `unfreeze`. */
    freeze: (names: string[]) => mounted.inside(chattr("+i", names)),
    unfreeze: (names: string[]) => mounted.inside(chattr("-i", names)),
  };
}

const chattr = (how: string, names: string[]) =>
  `cd "$0" && chattr ${how} ${names.map((name) => `'${name}'`).join(" ")}`;
