import type { Context } from "hono";
import { readForm } from "#hub/platform/http/multipart.ts";
import { validationError } from "#hub/platform/http/new-app.ts";
import { invalid } from "#shared/kit/errors.ts";
import type { InputFile } from "#shared/protocol/actions/arguments.ts";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { MAX_INPUT_FILES_BYTES } from "#shared/protocol/limits.ts";
import { actOn } from "../sessions/act.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import type { SessionActContext } from "../sessions/session-contexts.ts";
import { dropUploads, putUpload } from "../sessions/uploads.ts";

/** Files of one form: as many as the JSON body may have. */
const MAX_FILES = 100;

/** Several fields `frame` are a list from outside in; of every other name the last one counts. */
function argumentsOf(fields: Record<string, string[]>): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  for (const [name, values] of Object.entries(fields)) {
    const last = values.at(-1);
    if (name === "frame" && values.length > 1) given[name] = values;
    else given[name] = name === "timeout_s" ? Number(last) : last;
  }
  return given;
}

/** set_input_files as a form: `selector`, `frame`, `timeout_s` and files, streamed to the worker and set by one call. */
export async function setStreamedFiles(
  ctx: SessionActContext,
  c: Context,
  session: HubSession,
): ReturnType<typeof actOn> {
  // The body is not kept, so a later one could not be compared with it.
  if (c.req.header("idempotency-key") !== undefined)
    throw invalid(["header", "Idempotency-Key"], "cannot be combined with multipart/form-data");
  const files: InputFile[] = [];
  const limits = { max_bytes: MAX_INPUT_FILES_BYTES, max_files: MAX_FILES };
  try {
    const fields = await readForm(c, limits, async ({ name, mime, body }) => {
      if (Buffer.byteLength(name) > 255)
        throw invalid(["body", "files"], "a file name is too long");
      const upload_id = newToken();
      // In the order of the form: a page is given them like that, whichever the worker confirms first.
      files.push({ name, mime: mime.slice(0, 255), upload_id });
      await putUpload(ctx, session, upload_id, body, c.req.raw.signal);
    });
    const given = { ...argumentsOf(fields), files };
    const args = SESSION_ACTIONS.set_input_files.args.safeParse(given);
    if (!args.success) throw validationError(args.error.issues, "body", given);
    return await actOn(ctx, session, "set_input_files", args.data);
  } catch (err) {
    const ids = files.flatMap(({ upload_id }) => (upload_id === undefined ? [] : [upload_id]));
    await dropUploads(ctx, session, ids);
    throw err;
  }
}
