/**
 * Files that a worker reads beside its sources, with their SHA-256; written by `bun run gen`. The version of a node is
 * the hash of its sources (fleet spec §9.1): named here, these files count for it too, and an update can be checked whole.
 */
export const CARRIED_FILES: Readonly<Record<string, string>> = {
  "worker/pipeline/flotilla_store.py":
    "31793cd21023462b309b96a752dcaca6725ea5ca6e7c63f815d69eab2879bbd1",
  "worker/pipeline/runner.py": "5eface877d1d9a10d1c89c2aa69f6d8dbc83a57664aeb07a7c54189fede3e3f9",
};
