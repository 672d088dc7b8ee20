/** Who a call may be made by: `token` is SVC_API_TOKEN, `admin` the administrator's password. */
export type LoginKind = "token" | "admin";

export interface LoginAsked {
  kind: LoginKind;
  /** The last answer was wrong. */
  wrong: boolean;
  /** Null: the person does not want to. */
  answer(secret: string | null): void;
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

const waiting = new Map<LoginKind, Promise<string | null>>();

/** Asks the person; calls that are refused at the same time share one question. */
export function askLogin(kind: LoginKind, wrong: boolean): Promise<string | null> {
  const there = waiting.get(kind);
  if (there !== undefined) return there;
  const promise = new Promise<string | null>((resolve) => {
    set({
      kind,
      wrong,
      answer: (secret) => {
        waiting.delete(kind);
        set(null);
        resolve(secret);
      },
    });
  });
  waiting.set(kind, promise);
  return promise;
}

/** The administrator's password: kept by this page alone and gone with it. */
let password = "";
export const adminPassword = (): string => password;
export function setAdminPassword(next: string): void {
  password = next;
  for (const heard of listeners) heard();
}
export const isAdmin = (): boolean => password !== "";
