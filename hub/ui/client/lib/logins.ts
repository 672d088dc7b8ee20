import type { Role } from "#shared/protocol/schema/token.ts";
import { isAtLeast } from "#shared/protocol/token-roles.ts";

/** What is asked for: `token` is one with a role, or SVC_API_TOKEN; `admin` the administrator's password. */
export type LoginKind = "token" | "admin";

interface LoginAsked {
  kind: LoginKind;
  /** The server's refusal of the last login; null before there was one. */
  wrong: string | null;
  /** Null: the person declined; `in`: the browser was logged in in the meantime. */
  answer(given: LoginAnswer): void;
}

export type LoginAnswer = LoginGiven | "in" | null;
/** The password opens what a token opens. */
interface LoginGiven {
  kind: LoginKind;
  secret: string;
}

let asked: LoginAsked | null = null;
const listeners = new Set<() => void>();
const set = (next: LoginAsked | null) => {
  asked = next;
  for (const heard of listeners) heard();
};

/** The question of the moment, for the dialog that shows it. */
export const loginStore = {
  get: () => asked,
  subscribe: (heard: () => void) => {
    listeners.add(heard);
    return () => void listeners.delete(heard);
  },
};

const waiting = new Map<LoginKind, Promise<LoginAnswer>>();

/** Asks the person; calls that are refused at the same time share one question. */
export function askLogin(kind: LoginKind, wrong: string | null): Promise<LoginAnswer> {
  const there = waiting.get(kind);
  if (there !== undefined) return there;
  const promise = new Promise<LoginAnswer>((resolve) => {
    set({
      kind,
      wrong,
      answer: (given) => {
        waiting.delete(kind);
        set(null);
        resolve(given);
      },
    });
  });
  waiting.set(kind, promise);
  return promise;
}

/** Who this browser is at the server: `GET /ui/caller`. */
export interface WhoIAm {
  kind: string;
  name: string | null;
  role: string | null;
  /** Nobody is asked for a token, and others reach it. */
  open: boolean;
  /** A token is asked for, and workers join without a secret. */
  workers_open: boolean;
}

let who: WhoIAm | null = null;
/** Null until the server has said it. */
export const whoAmI = (): WhoIAm | null => who;
export function setWho(next: WhoIAm | null): void {
  who = next;
  for (const heard of listeners) heard();
}
export const isAdmin = (): boolean => who?.role === "admin";

/** Whether a call that needs this role is let through; a caller that the server has not named yet may do nothing. */
export function mayDo(caller: WhoIAm | null, needs: Role): boolean {
  if (caller === null) return false;
  // On the open LAN and with SVC_API_TOKEN nobody has a role, and all but the administrator's calls are open.
  if (caller.role === null) return needs !== "admin";
  return isAtLeast(caller.role as Role, needs);
}
