import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ROOT } from "../build.ts";
import { type Asked, nameOfTag } from "./order.ts";

/** A release of a tag: in a checkout of its own, by the tag's own scripts, whatever lies about in this one. */

function git(...words: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["git", "-C", ROOT, ...words]);
  if (exitCode !== 0) throw new Error(`git ${words.join(" ")}: ${stderr.toString().trim()}`);
  return stdout.toString().trim();
}

/** When the tag was made: the same tag gives the same release. */
const dateOf = (tag: string): string =>
  new Date(
    git("for-each-ref", "--format=%(creatordate:iso-strict)", `refs/tags/${tag}`),
  ).toISOString();

/** @throws Error when there is no such tag, it is called otherwise than its version, or its release fails */
export async function releaseTag({
  order,
  tag,
  passed_on,
}: Asked & { tag: string }): Promise<void> {
  git("rev-parse", "--verify", "--quiet", `refs/tags/${tag}`);
  const show = (path: string) => git("show", `refs/tags/${tag}:${path}`);
  const name = nameOfTag(tag, show("package.json"), show("CHANGELOG.md"));
  const dir = mkdtempSync(join(tmpdir(), "flotilla-release-"));
  try {
    git("archive", "--format=tar", "--output", join(dir, "tag.tar"), `refs/tags/${tag}`);
    const root = join(dir, `flotilla-${name}`);
    const unpack = `mkdir '${root}' && tar -xf '${dir}/tag.tar' -C '${root}'`;
    if (Bun.spawnSync(["sh", "-c", unpack]).exitCode !== 0)
      throw new Error(`${tag} could not be unpacked in ${dir}`);
    const own = ["--name", name, "--at", dateOf(tag), "--to", resolve(order.to)];
    const argv = [
      "sh",
      join(root, "scripts/release"),
      resolve(order.key_file),
      ...own,
      ...passed_on,
    ];
    const made = Bun.spawn(argv, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
    if ((await made.exited) !== 0) throw new Error(`the release of ${tag} failed`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
