import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { DIALOG_WAIT_S } from "#shared/protocol/limits.ts";
import type { Dialog, DialogPolicy } from "#shared/protocol/schema/dialog.ts";
import type { CdpSession, Protocol } from "../cdp/connection.ts";
import type { CdpClients } from "./cdp-clients.ts";

/** A dialog that is open. Times epoch ms. */
export interface OpenDialog extends Omit<Dialog, "active" | "opened_at" | "closes_at"> {
  target_id: string;
  opened_at: number;
  closes_at: number | null;
}

/** The dialog events that a follower of a page receives. */
export interface DialogEvents {
  /** It is waiting for an answer. */
  waits?(dialog: OpenDialog): void;
  /** `by_policy`: nobody was asked. */
  closed(dialog: OpenDialog, how: { accepted: boolean; by_policy: boolean }): void;
}

/** Who is at work in the session: `alone` is one call of many steps, between which nobody can answer. */
type AtWork = "acting" | "alone";

/**
 * The dialogs of a session's pages. A dialog belongs to whatever controls the page: a CDP client that had enabled
 * `Page` on the page when it opened, or else the session's policy (`DialogPolicy`).
 */
export interface Dialogs {
  /** Follows a page from before it runs, through a session on which somebody enables `Page`. */
  follow(page: CdpSession, target_id: string, events: DialogEvents): void;
  /** Oldest first. */
  list(): OpenDialog[];
  /** The page's dialog that waits for an answer: until then the page does nothing. */
  waiting(target_id: string): OpenDialog | null;
  /** Resolves when such a dialog opens in the page; never once `signal` has aborted. */
  nextWaiting(target_id: string, signal: AbortSignal): Promise<OpenDialog>;
  /** @throws CdpError when it is no longer open; DeadlineError. */
  answer(dialog: OpenDialog, accept: boolean, prompt_text?: string): Promise<void>;
  /**
   * Meanwhile, the session accepts a page's question whether to leave it, and nothing waits for a person when
   * `alone`.
   */
  during<T>(how: AtWork, work: () => Promise<T>): Promise<T>;
  /**
   * Dismisses waiting dialogs before the connection through which they would be answered changes hands. Never
   * rejects.
   */
  dismissAll(): Promise<void>;
}

export interface DialogDeps {
  clock: Clock;
  clients: Pick<CdpClients, "steers" | "onChange">;
  policy(): DialogPolicy;
  /** A dialog has opened, or was answered. */
  onDialog?(dialog: OpenDialog, answer: DialogAnswer | null): void;
  log: Log;
}

/** `by`, for people: who answered. */
export interface DialogAnswer {
  accepted: boolean;
  by: string;
}

interface Held {
  dialog: OpenDialog;
  page: CdpSession;
  events: DialogEvents;
  /** Whether a client handles it. */
  steered: boolean;
  by_policy: boolean;
  /** Who has sent an answer that the session itself passes on. */
  answered_by: string | null;
  /** Stops its timer. */
  timer: AbortController;
}

/** The browser's own process answers this. */
const ANSWER_MS = 2_000;
const MAX_TEXT = 4_000;

async function answerHeld({ dialog, page }: Held, accept: boolean, text?: string): Promise<void> {
  await page.send(
    "Page.handleJavaScriptDialog",
    { accept, promptText: text ?? dialog.default_prompt },
    { timeout_ms: ANSWER_MS },
  );
}

const HANDS_OVER = "the session, as its browser changes hands";

function answerAs(by: string, held: Held, accept: boolean, text?: string): Promise<void> {
  held.answered_by = by;
  return answerHeld(held, accept, text);
}

const NOT_ANSWERED = { by_policy: false, answered_by: null };

/** Whether it waits for a person. */
const isWaiting = (held: Held | undefined): held is Held =>
  held !== undefined && !held.steered && !held.by_policy;

const dialogOf = (
  { type, message, defaultPrompt, url }: Protocol.Page.JavascriptDialogOpeningEvent,
  dialog_id: string,
  target_id: string,
  opened_at: number,
): OpenDialog => ({
  dialog_id,
  target_id,
  type,
  message: message.slice(0, MAX_TEXT),
  default_prompt: (defaultPrompt ?? "").slice(0, MAX_TEXT),
  url: url.slice(0, MAX_TEXT),
  opened_at,
  closes_at: null,
});

/** Dialogs that need no person's answer, by the session's policy and by who is at work in it. */
function createVerdicts(policy: () => DialogPolicy) {
  const at_work = { acting: 0, alone: 0 };
  return {
    /** True and false are the answer; null leaves it to a person. */
    of: ({ type }: OpenDialog): boolean | null => {
      const chosen = policy();
      if (type === "beforeunload") return chosen !== "wait" || at_work.acting > 0 ? true : null;
      if (chosen === "wait") return at_work.alone > 0 ? false : null;
      return chosen === "accept";
    },
    during: async <T>(how: AtWork, work: () => Promise<T>): Promise<T> => {
      at_work[how] += 1;
      if (how === "alone") at_work.acting += 1;
      try {
        return await work();
      } finally {
        at_work[how] -= 1;
        if (how === "alone") at_work.acting -= 1;
      }
    },
  };
}

/** Those who want to know when a dialog waits for a person. */
function createWaiters() {
  const listeners = new Set<(dialog: OpenDialog) => void>();
  return {
    tell: (dialog: OpenDialog): void => {
      for (const listener of [...listeners]) listener(dialog);
    },
    next: (target_id: string, signal: AbortSignal): Promise<OpenDialog> =>
      new Promise((resolve) => {
        const listener = (dialog: OpenDialog) => {
          if (dialog.target_id === target_id) resolve(dialog);
        };
        listeners.add(listener);
        signal.addEventListener("abort", () => listeners.delete(listener), { once: true });
      }),
  };
}

/** Leaves a dialog to people, and dismisses it when nobody answers in time. */
function letWait(
  held: Held,
  clock: Clock,
  log: Log,
  waiters: ReturnType<typeof createWaiters>,
): void {
  const { dialog, events, timer } = held;
  const wait_ms = DIALOG_WAIT_S * 1_000;
  dialog.closes_at = clock.now() + wait_ms;
  events.waits?.(dialog);
  waiters.tell(dialog);
  void clock.sleep(wait_ms, timer.signal).then(() => {
    if (timer.signal.aborted) return;
    log.info({ url: dialog.url, type: dialog.type }, "dismissed a dialog that nobody answered");
    answerAs("nobody: its time was over", held, false).catch(() => {});
  });
}

/** A person answers in the browser itself, which says no more than that the dialog is closed. */
const answererOf = ({ steered, by_policy, answered_by }: Held): string => {
  if (answered_by !== null) return answered_by;
  if (by_policy) return "the dialog policy";
  return steered ? "a CDP client" : "a person";
};

const toldClosed =
  (onDialog: DialogDeps["onDialog"]) =>
  (held: Held, accepted: boolean): void => {
    const { dialog, events, by_policy } = held;
    onDialog?.(dialog, { accepted, by: answererOf(held) });
    events.closed(dialog, { accepted, by_policy });
  };

export function createDialogs({ clock, clients, policy, onDialog, log }: DialogDeps): Dialogs {
  const closed = toldClosed(onDialog);
  const verdicts = createVerdicts(policy);
  const open = new Map<string, Held>();
  const waiters = createWaiters();
  let last_id = 0;

  function opening(
    page: CdpSession,
    target_id: string,
    events: DialogEvents,
    event: Protocol.Page.JavascriptDialogOpeningEvent,
  ): void {
    last_id += 1;
    const held: Held = {
      ...NOT_ANSWERED,
      dialog: dialogOf(event, String(last_id), target_id, clock.now()),
      page,
      events,
      steered: clients.steers(target_id),
      timer: new AbortController(),
    };
    open.set(target_id, held);
    onDialog?.(held.dialog, null);
    decide(held);
  }

  function decide(held: Held): void {
    if (held.steered) return;
    const accept = verdicts.of(held.dialog);
    if (accept === null) letWait(held, clock, log, waiters);
    else {
      held.by_policy = true;
      answerHeld(held, accept).catch(() => {});
    }
  }

  function over(target_id: string, page: CdpSession): Held | null {
    const held = open.get(target_id);
    if (held?.page !== page) return null;
    open.delete(target_id);
    held.timer.abort();
    return held;
  }

  clients.onChange(() => {
    for (const held of open.values()) {
      if (!held.steered || clients.steers(held.dialog.target_id)) continue;
      held.steered = false;
      decide(held);
    }
  });

  return {
    follow: (page, target_id, events) => {
      page.on("Page.javascriptDialogOpening", (event) => opening(page, target_id, events, event));
      page.on("Page.javascriptDialogClosed", ({ result }) => {
        const held = over(target_id, page);
        if (held) closed(held, result);
      });
      void page.closed.then(() => over(target_id, page));
    },
    list: () => [...open.values()].map(({ dialog }) => dialog),
    waiting: (target_id) => {
      const held = open.get(target_id);
      return isWaiting(held) ? held.dialog : null;
    },
    nextWaiting: waiters.next,
    answer: async (dialog, accept, prompt_text) => {
      const held = open.get(dialog.target_id);
      if (held?.dialog !== dialog) throw new Error("the dialog is no longer open");
      await answerAs("the API", held, accept, prompt_text);
    },
    during: verdicts.during,
    dismissAll: async () => {
      const waiting = [...open.values()].filter(isWaiting);
      await Promise.allSettled(waiting.map((held) => answerAs(HANDS_OVER, held, false)));
    },
  };
}
