import type { Locator, Page } from "playwright-core";
import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import type { Mask } from "#shared/recording/masks.ts";
import { SECRET_FIELDS } from "./secret-fields.ts";

export type Hide = Mask["hide"];

interface Typing {
  page: Page;
  clock: Clock;
  hide: Hide;
  /** What it goes into; null: what has the focus, in whichever frame. */
  field: Locator | null;
  text: string;
  /** Its keys are pressed one after the other, behind what is there: the page sees each beginning of it. */
  by_key: boolean;
}

/** A page that hangs answers no look; the text is hidden then. */
const LOOK_MS = 250;
/** So many beginnings of a text are hidden; what is longer is hidden as a whole. */
const MOST_BEGINNINGS = 128;

/** What a look has found: `is_secret` is null where there is no such field yet, or the page does not answer. */
interface Seen {
  is_secret: boolean | null;
  /** What is in the field by now; empty unless it is secret. */
  value: string;
}
const UNSEEN: Seen = { is_secret: null, value: "" };
const PLAIN: Seen = { is_secret: false, value: "" };

/**
 * Types, and hides what is typed when that goes into a field whose text nobody may read
 * (rules/recordings#secrets-in-recordings): before a key is pressed, because the page may repeat it at once. Of a field
 * that is not there yet, or becomes secret while it has the focus, this is known afterwards.
 */
export async function hidingTyped<T>(typing: Typing, type: () => Promise<T>): Promise<T> {
  const { page, hide, text } = typing;
  const before = await look(typing);
  const begun = before.is_secret === false ? [] : beginningsOf(typing, before);
  const show = before.is_secret === false ? null : hide([text]);
  const showAll = () => {
    for (const one of begun) one.show();
    show?.();
  };
  let result: T;
  try {
    result = await type();
  } catch (err) {
    // Nothing was typed into a field that never came.
    if (before.is_secret === null && (await look(typing)).is_secret !== true) showAll();
    throw err;
  }
  const after = await look(typing);
  const is_secret = before.is_secret || (after.is_secret ?? before.is_secret === null);
  if (!is_secret) showAll();
  else {
    if (!show) hide([text]);
    // A page may have emptied the field, or be gone.
    const value = after.value || before.value + text;
    showShort(page, [...begun, { text: value, show: hide([value]) }], value);
  }
  return result;
}

interface Beginning {
  text: string;
  show(): void;
}

/** Hides what the page sees before the last key is pressed. */
function beginningsOf({ hide, text, by_key }: Typing, { value }: Seen): Beginning[] {
  if (!by_key) return [];
  return Array.from({ length: Math.min(text.length, MOST_BEGINNINGS) }, (_, i) => {
    const beginning = value + text.slice(0, i + 1);
    return { text: beginning, show: hide([beginning]) };
  });
}

/** What is hidden of a page's secret field as the beginning of what it has now. */
const hidden = new WeakMap<Page, Beginning[]>();

/** Short beginnings of a secret may be any word, and are shown again: those below half of it. */
function showShort(page: Page, begun: Beginning[], value: string): void {
  const all = [...(hidden.get(page) ?? []), ...begun].filter(({ text }) => value.startsWith(text));
  const isShort = ({ text }: Beginning) => 2 * text.length < value.length;
  for (const { show } of all.filter(isShort)) show();
  hidden.set(
    page,
    all.filter((one) => !isShort(one)),
  );
}

const CHARACTER = /^(?:Shift\+)?(.)$/su;

/** Presses a key, and hides in the same way what it types, if that is a character. */
export function pressHiding(
  { key, ...typing }: Omit<Typing, "text" | "by_key"> & { key: string },
  timeout: number,
): Promise<void> {
  const { field, page } = typing;
  const press = () => (field ? field.press(key, { timeout }) : page.keyboard.press(key));
  const text = CHARACTER.exec(key)?.[1];
  return text === undefined ? press() : hidingTyped({ ...typing, text, by_key: true }, press);
}

/** Looks from a world that the page's scripts cannot reach. Never rejects, and never waits for a field. */
const look = ({ page, field, clock }: Typing): Promise<Seen> =>
  withDeadline(
    "a look at a field",
    LOOK_MS,
    field ? lookAt(field) : lookAtFocus(page),
    clock,
  ).catch(() => UNSEEN);

async function lookAt(field: Locator): Promise<Seen> {
  const secret = field.and(field.page().locator(SECRET_FIELDS));
  const [there, secrets] = await Promise.all([field.count(), secret.count()]);
  if (there === 0) return UNSEEN;
  return secrets === 0 ? PLAIN : secretIn(secret);
}

const FOCUSED = SECRET_FIELDS.split(",")
  .map((field) => `${field}:focus`)
  .join(",");

async function lookAtFocus(page: Page): Promise<Seen> {
  const fields = page.frames().map((frame) => frame.locator(FOCUSED));
  const counts = await Promise.all(fields.map((field) => field.count().catch(() => 0)));
  const field = fields[counts.findIndex((count) => count > 0)];
  return field ? secretIn(field) : PLAIN;
}

async function secretIn(field: Locator): Promise<Seen> {
  const value = field.first().inputValue({ timeout: LOOK_MS });
  return { is_secret: true, value: await value.catch(() => "") };
}
