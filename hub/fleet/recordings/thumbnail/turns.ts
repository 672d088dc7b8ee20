import { AppError } from "#shared/kit/errors.ts";
import { createLimitedTurns } from "#shared/kit/turns.ts";

/** Draws small pictures of recordings one at a time, because drawing takes the thread that answers calls. */
export type ThumbnailTurns = <T>(draw: () => Promise<T>) => Promise<T>;

/** A list shows a hundred, and browsers ask for those that are in view. */
const MOST_WAITING = 200;

const full = () =>
  new AppError("unavailable", "too many pictures wait to be drawn; try again later");

/** @throws AppError unavailable while too many wait; what `draw` throws */
export const createThumbnailTurns = (): ThumbnailTurns => createLimitedTurns(MOST_WAITING, full);
