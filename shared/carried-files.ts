/**
 * Files that a worker reads beside its sources, with their SHA-256; written by `bun run gen`. The version of a node is
 * the hash of its sources (rules/updates#versions): named here, these files count for it too, and an update can be checked whole.
 */
export const CARRIED_FILES: Readonly<Record<string, string>> = {
  "worker/tasks/flotilla_store.py":
    "31793cd21023462b309b96a752dcaca6725ea5ca6e7c63f815d69eab2879bbd1",
  "worker/tasks/runner.py": "df724f589f78dc78076b665901ca54bcc97b95e7edb3098386a6f6be2b37cb81",
};
