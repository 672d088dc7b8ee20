import { invalid } from "#shared/kit/errors.ts";

/** Where a page ends in a list that is ordered by time, and by id within one time. `at` is epoch ms. */
export interface TimePlace {
  at: number;
  id: number;
}

/** The place in the opaque form that callers get. */
export const timeCursor = ({ at, id }: TimePlace): string =>
  Buffer.from(`${at} ${id}`).toString("base64url");

/** @throws AppError invalid for a cursor of another list */
export function readTimeCursor(cursor: string): TimePlace {
  const text = Buffer.from(cursor, "base64url").toString();
  const [, at, id] = /^(-?\d{1,15}) (\d{1,15})$/.exec(text) ?? [];
  if (at === undefined || id === undefined)
    throw invalid(["query", "cursor"], "is not a cursor of this list");
  return { at: Number(at), id: Number(id) };
}

/** The same for lists whose ids are texts. */
interface NamedPlace {
  at: number;
  id: string;
}

export const namedCursor = ({ at, id }: NamedPlace): string =>
  Buffer.from(`${at}.${id}`).toString("base64url");

/** @throws AppError invalid for a cursor of another list */
export function readNamedCursor(cursor: string): NamedPlace {
  const text = Buffer.from(cursor, "base64url").toString();
  const [, at, id] = /^([0-9]{1,15})\.([0-9A-Za-z_-]{1,64})$/.exec(text) ?? [];
  if (at === undefined || id === undefined)
    throw invalid(["query", "cursor"], "is not a cursor of this list");
  return { at: Number(at), id };
}
