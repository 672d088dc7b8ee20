import { copySources, type SourceTree } from "../rigs/source-tree.ts";

const BUNDLE = "hub/ui/bundle.ts";
const NAMES = "[name]-[hash].[ext]";

/**
 * The program as another version: the same but for the names of the app's files, so that none of those that a page of this
 * version still wants is there.
 */
export const upgradedApp = (root: string): Promise<SourceTree> =>
  copySources(root, {
    [BUNDLE]: (text) => {
      if (!text.includes(NAMES)) throw new Error(`${BUNDLE} has no ${NAMES}`);
      return text.replaceAll(NAMES, "[name]-next-[hash].[ext]");
    },
  });
