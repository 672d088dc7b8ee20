import type { FlagValues } from "./args.ts";
import { lastOf } from "./client-call.ts";
import { UsageError } from "./exit.ts";
import { parseOption } from "./fetch.ts";

/** @throws UsageError unless it reads `1280x720` */
function viewportOf(text: string): { width: number; height: number } {
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(text) ?? [];
  if (width === undefined || height === undefined)
    throw new UsageError(`--viewport: "${text}" is not WIDTHxHEIGHT, such as 1280x720`);
  return { width: Number(width), height: Number(height) };
}

/** Fields of `POST /sessions` as they were typed; what they may be, the hub says. */
export function sessionOptions(flags: FlagValues): Record<string, unknown> {
  const options: Record<string, unknown> = Object.fromEntries(
    (flags.option ?? []).map(parseOption),
  );
  if (flags.headless) options.headless = true;
  const viewport = lastOf(flags, "viewport");
  if (viewport !== undefined) options.viewport = viewportOf(viewport);
  const named = { use_profile: lastOf(flags, "profile"), worker_id: lastOf(flags, "worker") };
  for (const [name, value] of Object.entries(named)) if (value !== undefined) options[name] = value;
  return options;
}
