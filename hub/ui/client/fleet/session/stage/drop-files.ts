import type { Picked } from "#shared/protocol/schema/recorded-input.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import { open } from "../../../lib/http.ts";
import { act } from "../act.ts";

const UPLOAD_MS = 120_000;
/** Long enough for a page on a busy machine: whoever has dropped a file would have to drop it again. */
const FIELD_S = 20;
const FILES = "input[type=file]";

/** The field for files at a point of the picture, or the only one of the page. @throws Error in words for people. */
async function fieldFor(session: Session, at: { x: number; y: number } | null): Promise<Picked> {
  if (at !== null) {
    const there = await act(session, "pick", { ...at, timeout_s: FIELD_S });
    if (there.element?.tag === "input" && there.element.type === "file") return there;
  }
  const only = await act(session, "pick", { selector: FILES, timeout_s: FIELD_S });
  if (only.selectors[0]?.matches === 1) return only;
  throw new Error(
    only.selectors[0]?.matches
      ? "The page has several fields for files: drop them on one of them."
      : "The page has no field for files here.",
  );
}

/** The form that sets the files of a field, with the frames that it is in, from outside in. */
export function formFor(
  { selectors, frame }: Pick<Picked, "selectors" | "frame">,
  files: readonly File[],
): FormData {
  const form = new FormData();
  form.set("selector", selectors.find(({ matches }) => matches === 1)?.selector ?? FILES);
  for (const one of frame) form.append("frame", one);
  for (const file of files) form.append("files", file);
  return form;
}

/** Gives files to the page. @throws FlotillaError, Error */
export async function dropFiles(
  session: Session,
  files: readonly File[],
  at: { x: number; y: number } | null,
): Promise<void> {
  const field = await fieldFor(session, at);
  const form = formFor(field, files);
  await open("POST /sessions/{sid}/set_input_files", {
    params: { sid: session.session_id },
    body: form,
    timeout_ms: UPLOAD_MS,
  });
}
