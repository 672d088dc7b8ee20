import { invalid } from "#shared/kit/errors.ts";

/** Where a page of a list ends that is ordered by time, and by id among those of one time. `at`: epoch ms. */
export interface TimePlace {
  at: number;
  id: number;
}

/** The place as callers are given it, opaque. */
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
