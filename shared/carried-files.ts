/**
 * Files that a worker reads in addition to its sources, with their SHA-256; written by `bun run gen`. The version of a node is
 * the hash of its sources (rules/updates#versions): named here, these files count for it too, and an update can be checked whole.
 */
export const CARRIED_FILES: Readonly<Record<string, string>> = {
  "worker/tasks/flotilla_store.py":
    "b2b9963ae3bba7acf8e33cdd654f17d64bcd372fc26b48fb0bafc1607618f148",
  "worker/tasks/runner.py": "1af6c17795a8073b5a4f8e747f08332f4687fd9490b9c1982ac6727ba83c1853",
};
