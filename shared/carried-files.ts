/**
 * Files that a worker reads in addition to its sources, with their SHA-256; written by `bun run gen`. The version of a node is
 * the hash of its sources (rules/updates#versions): named here, these files count for it too, and an update can be checked whole.
 */
export const CARRIED_FILES: Readonly<Record<string, string>> = {
  "worker/browser/clicks/listen.page.js":
    "0efa9a3016a5e4dd70184c68b8ad72018f49645628e49782b9903413f479f213",
  "worker/browser/picker/names.page.js":
    "17fd2671bcc52a04b79e6d81e37012c8b32363c8c76b567b3dd9a23744c1a2d4",
  "worker/browser/picker/selectors.page.js":
    "470647ac275030a27f2c89aa1ea1d1a2f40ecb5943f072def4fd0080473a9546",
  "worker/tasks/flotilla_store.py":
    "b2b9963ae3bba7acf8e33cdd654f17d64bcd372fc26b48fb0bafc1607618f148",
  "worker/tasks/runner.py": "0ecccd02c79a2215aa83cd7c31259fa1f3f0e80a749794d1bc4ef3b6fa3eb804",
};
