/**
 * When a video shows what. Its frames stand on a grid of tenths of a second; one is written where the picture has changed,
 * and again while it stands still, because players seek and stream badly across a long gap.
 */

/** The shortest time from one frame to the next. */
export const STEP_MS = 100;
/** How long a still picture may last before it is written again, in steps. */
const STILL_STEPS = 20;

export interface Timing {
  /**
   * A new picture appears at this moment of the recording, which is never before the last one. @returns the moments of the
   * video, in milliseconds, at which the picture before it is written; none where it was seen for less than a step.
   */
  changesAt(ms: number): number[];
  /** Those of the last picture, up to the end of the recording: the last of them lasts one step. */
  endsAt(ms: number): number[];
}

/** @param speed how many times faster than the recording the video is. It begins with a picture at 0. */
export function createTiming(speed: number): Timing {
  /** The step at which the picture of now begins. */
  let began = 0;
  const stepOf = (ms: number) => Math.ceil(ms / speed / STEP_MS);
  const before = (step: number): number[] => {
    const at: number[] = [];
    for (let i = began; i < step; i += STILL_STEPS) at.push(i * STEP_MS);
    return at;
  };
  return {
    changesAt: (ms) => {
      const step = Math.max(began, stepOf(ms));
      const at = before(step);
      began = step;
      return at;
    },
    endsAt: (ms) => {
      const last = Math.max(began, stepOf(ms) - 1);
      return [...before(last), last * STEP_MS];
    },
  };
}
