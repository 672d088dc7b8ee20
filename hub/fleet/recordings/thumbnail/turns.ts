import { AppError } from "#shared/kit/errors.ts";
import { createTurns } from "#shared/kit/turns.ts";

/** Draws small pictures of recordings one at a time, because drawing takes the thread that answers calls. */
export type ThumbnailTurns = <T>(draw: () => Promise<T>) => Promise<T>;

/** A list shows a hundred, and browsers ask for those that are in view. */
const MOST_WAITING = 200;

/** @throws AppError unavailable while too many wait; what `draw` throws */
export function createThumbnailTurns(): ThumbnailTurns {
  const inTurn = createTurns<"thumbnail">();
  let waiting = 0;
  return async (draw) => {
    if (waiting >= MOST_WAITING)
      throw new AppError("unavailable", "too many pictures wait to be drawn; try again later");
    waiting += 1;
    try {
      return await inTurn("thumbnail", draw);
    } finally {
      waiting -= 1;
    }
  };
}
