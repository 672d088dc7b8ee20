/**
 * Files that a worker reads in addition to its sources, with their SHA-256; written by `bun run gen`. The version of a node is
 * the hash of its sources (rules/updates#versions): named here, these files count for it too, and an update can be checked whole.
 */
export const CARRIED_FILES: Readonly<Record<string, string>> = {
  "worker/browser/clicks/listen.page.js":
    "6d6788b5ab12d44d8a7216009a7c4f8718a935d0c6ceabd19b8f0731373ca75a",
  "worker/browser/picker/names.page.js":
    "66808c54db6cf9a7de2b8c6c6dc049a7518c11d965cde30bba013d4a38182a65",
  "worker/browser/picker/selectors.page.js":
    "1c3d38468b6c4ebc70992cafbdc01e5e54b629da573e2b3de10be8f611e3a1ea",
  "worker/tasks/flotilla_store.py":
    "b2b9963ae3bba7acf8e33cdd654f17d64bcd372fc26b48fb0bafc1607618f148",
  "worker/tasks/runner.py": "1af6c17795a8073b5a4f8e747f08332f4687fd9490b9c1982ac6727ba83c1853",
};
