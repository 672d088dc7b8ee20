import type { FleetContext } from "../context.ts";

type Way = "single" | "batch" | "direct" | "document";
/** A stored body, or why it was not. */
type Stored = { readonly size: number } | { readonly error: unknown };

const isList = (stored: Stored | readonly Stored[]): stored is readonly Stored[] =>
  Array.isArray(stored);

/** Counts what an upload stored and refused; the answer, or the error, goes on to the worker. */
export async function countUpload<T extends Stored | readonly Stored[]>(
  { meters }: Pick<FleetContext, "meters">,
  way: Way,
  upload: Promise<T>,
): Promise<T> {
  try {
    const stored = await upload;
    const all: readonly Stored[] = isList(stored) ? stored : [stored];
    for (const one of all) {
      if ("error" in one) meters.uploads_refused.inc({ way });
      else {
        meters.uploads.inc({ way });
        meters.upload_bytes.inc({ way }, one.size);
      }
    }
    return stored;
  } catch (err) {
    meters.uploads_refused.inc({ way });
    throw err;
  }
}
