import { errorText } from "../../lib/query.ts";

/** A browser opens six connections to a server; one of them is the stream of changes. */
const AT_ONCE = 5;

export interface BulkResult {
  done: number;
  failed: { id: string; why: string }[];
}

/** Runs it for each, a few at a time; a failure does not stop the others. */
export async function forEachOf(
  ids: readonly string[],
  change: (id: string) => Promise<unknown>,
  told: (done: number) => void,
): Promise<BulkResult> {
  const result: BulkResult = { done: 0, failed: [] };
  const left = ids.values();
  const work = async () => {
    for (const id of left) {
      try {
        await change(id);
        result.done += 1;
      } catch (err) {
        result.failed.push({ id, why: errorText(err) });
      }
      told(result.done + result.failed.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return result;
}

const SHOWN = 5;

/** "2 of 7 were not deleted", with why. */
export function failuresText({ failed }: BulkResult): string {
  const lines = failed.slice(0, SHOWN).map(({ id, why }) => `${id}: ${why}`);
  if (failed.length > SHOWN) lines.push(`and ${failed.length - SHOWN} more`);
  return lines.join("\n");
}
