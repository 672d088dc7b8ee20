import { isoTime } from "#shared/kit/clock.ts";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import type { Dialog } from "#shared/protocol/schema/dialog.ts";
import { ActionFailure } from "../actions/failure.ts";
import { CdpError } from "../cdp/connection.ts";
import type { Dialogs, OpenDialog } from "./dialogs.ts";

/** What calls need from a session: its dialogs, and the tab that actions go to. */
interface Asked {
  dialogs: Dialogs;
  activeTarget(): string | null;
}

/** These need no responsive page; the dialog actions are among them. */
const NEEDS_NO_PAGE: ReadonlySet<string> = new Set([
  "dialogs",
  "dialog",
  "tabs",
  "tab",
  "downloads",
  "read_download",
  "keepalive",
  "state",
  "cookies_get",
  "cookies_put",
  "cookies_clear",
  "network",
  "files",
  "take_name",
  "run_reset",
  "run_capture",
  "profile_save",
]);
/** Single gestures: one that opens a dialog is done. */
const GESTURES: ReadonlySet<string> = new Set([
  "click",
  "press",
  "mouse",
  "check",
  "uncheck",
  "select_option",
]);

/** A dialog blocks an action. */
class DialogInTheWay extends ActionFailure {
  readonly dialog: OpenDialog;
  constructor(action: string, dialog: OpenDialog) {
    super("page", { name: "DialogOpen", message: inTheWay(action, dialog) });
    this.dialog = dialog;
  }
}

const MAX_SHOWN = 200;
const inTheWay = (action: string, { type, message }: OpenDialog): string => {
  const text = message.length > MAX_SHOWN ? `${message.slice(0, MAX_SHOWN)}…` : message;
  const which = `${/^[aeiou]/.test(type) ? "an" : "a"} ${type} dialog`;
  return `${action} is blocked by ${which} of the page${text === "" ? "" : ` (“${text}”)`}: answer it with the action dialog`;
};

/**
 * Does what a call asks for, unless a dialog in the active tab that waits for an answer blocks it: then it fails at
 * once with an error that names the dialog. A gesture that has opened the dialog itself is done, and its result
 * mentions the dialog.
 * @throws ActionFailure page
 */
export async function unlessBlocked(
  asked: Asked,
  { action, args }: { action: string; args: Record<string, unknown> },
  work: (interrupted: Promise<never> | null) => Promise<unknown>,
): Promise<unknown> {
  const target_id = asked.activeTarget();
  if (target_id === null || NEEDS_NO_PAGE.has(action) || isPause(action, args)) return work(null);
  const before = asked.dialogs.waiting(target_id);
  if (before) throw new DialogInTheWay(action, before);
  const over = new AbortController();
  const interrupted = asked.dialogs.nextWaiting(target_id, over.signal).then((dialog) => {
    throw new DialogInTheWay(action, dialog);
  });
  try {
    return await Promise.race([work(interrupted), interrupted]);
  } catch (err) {
    if (!(err instanceof DialogInTheWay) || !GESTURES.has(action)) throw err;
    return { dialog: shownOf(asked, err.dialog) };
  } finally {
    over.abort();
  }
}

/** Whether it is a `wait` only for time. */
const isPause = (action: string, { selector, load_state }: Record<string, unknown>): boolean =>
  action === "wait" && selector === undefined && load_state === undefined;

const MAX_LISTED = 20;

const shownOf = (
  asked: Asked,
  { target_id, opened_at, closes_at, ...dialog }: OpenDialog,
): Dialog => ({
  ...dialog,
  active: target_id === asked.activeTarget(),
  opened_at: isoTime(opened_at),
  closes_at: closes_at === null ? null : isoTime(closes_at),
});

/** Open dialogs as clients see them, oldest first. */
export const listDialogs = (asked: Asked): Dialog[] =>
  asked.dialogs
    .list()
    .slice(0, MAX_LISTED)
    .map((dialog) => shownOf(asked, dialog));

const invalid = (message: string) => new ActionFailure("invalid", { name: "Error", message });

/**
 * The action `dialog`: answers the named dialog, or else the active tab's, or else the oldest. @throws ActionFailure
 * invalid
 */
export async function answerDialog(asked: Asked, raw: Record<string, unknown>): Promise<Dialog> {
  const { op, prompt_text, dialog_id } = SESSION_ACTIONS.dialog.args.parse(raw);
  const open = asked.dialogs.list();
  const active = asked.activeTarget();
  const dialog =
    dialog_id === undefined
      ? (open.find(({ target_id }) => target_id === active) ?? open[0])
      : open.find((one) => one.dialog_id === dialog_id);
  if (!dialog)
    throw invalid(
      dialog_id === undefined ? "no dialog is open" : `there is no open dialog ${dialog_id}`,
    );
  const shown = shownOf(asked, dialog);
  try {
    await asked.dialogs.answer(dialog, op === "accept", prompt_text);
  } catch (err) {
    if (err instanceof CdpError) throw invalid("the dialog was closed before it was answered");
    throw err;
  }
  return shown;
}
