import { readGuide } from "#hub/guide/guide-files.ts";
import { commandBlocks } from "../../../scripts/guide-commands.ts";

/**
 * The commands that the guide marks `sh seeded` below one heading, `how-to/backup.md#with-sqlite`, for the test that
 * scripts/check-guide.ts names there.
 * @throws unless there are as many blocks as that test knows: one that was added would be run by nobody.
 */
export function seededBlocks(heading: string, known: number): string[] {
  const [page = "", section] = heading.split("#");
  const found = commandBlocks(readGuide().get(page) ?? "")
    .filter((block) => block.mark === "seeded" && block.section === section)
    .map(({ commands }) => commands);
  if (found.length !== known)
    throw new Error(`${heading} has ${found.length} seeded blocks, and this test knows ${known}`);
  return found;
}
