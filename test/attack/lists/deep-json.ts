import type { AttackList } from "#test/support/rigs/attempts.ts";

export const DEEP_FIELD = `"extra":${"[".repeat(100_000)}${"]".repeat(100_000)}`;
export const BODIES = {
  "800 KB of [": "[".repeat(800_000),
  "objects, 100,000 deep": `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`,
};

export const DEEP_JSON: AttackList = {
  what: "JSON that is nested without end: refused before it is parsed, and nobody waits",
  file: "deep-json.test.ts",
  attempts: Object.keys(BODIES),
  on: "every route that takes JSON",
};
