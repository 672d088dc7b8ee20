import { guideText } from "#hub/guide/guide-text.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { EXIT, UsageError } from "./cli/exit.ts";
import { DEFAULT_HUB } from "./cli/flags.ts";
import type { Terminal } from "./cli/print.ts";

/**
 * `flotilla guide [PAGE]`, from what the program carries; it calls no hub.
 * @throws UsageError when there is no such page
 */
export async function runGuideCommand(
  [page]: readonly string[],
  env: EnvSource,
  terminal: Pick<Terminal, "out">,
): Promise<number> {
  const text = await guideText(page, env.SVC_HUB?.trim() || DEFAULT_HUB);
  if (text === null)
    throw new UsageError(`the guide has no page "${page}"; flotilla guide lists them`);
  terminal.out(text);
  return EXIT.ok;
}
