import type { AttemptSummary } from "#shared/protocol/schema/attempt.ts";

/** Where an attempt of a job ran that proves its scripts, in a sentence; null for other jobs. */
export function ranInText({ proof = null }: Pick<AttemptSummary, "proof">): string | null {
  if (!proof) return null;
  if (proof.ok === null) return "It runs in a replay of the capture; the site sees nothing of it.";
  if (!proof.ok) return "It ran in a replay of the capture alone; the site saw nothing of it.";
  return "It was proved in a replay of the capture, and then ran on the site.";
}
